{{ config(materialized="view_in_place") }}
select t, base, coalesce(type, 'all') as type, {{ across_markets("asked") }}
from {{ ref("known_market").include(database=false) }}
where aggregated
group by grouping sets ((t, base, type), (t, base))
