-- Quote currencies that the seed `quotes` does not list: their markets stay out of aggregates until it does.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'instruments'}}}) }}
select i.venue, i.quote, count(*) as markets
from {{ ref('instruments') }} as i
anti join {{ ref('quotes') }} as q on i.quote = q.quote
group by all
