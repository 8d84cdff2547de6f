-- Seed keys of several columns are unique, multipliers and OI factors positive.
{{ config(meta={'dagster': {'ref': {'name': 'symbols'}}}) }}
select 'symbols' as seed, venue || ' ' || symbol_base || ' ' || coalesce(market, '') as row_key
from {{ ref('symbols') }}
group by all
having count(*) > 1 or min(multiplier) <= 0
union all
select 'collateral_tokens', venue || ' ' || token
from {{ ref('collateral_tokens') }}
group by all
having count(*) > 1
union all
select 'venues', venue
from {{ ref('venues') }}
where oi_factor <= 0
