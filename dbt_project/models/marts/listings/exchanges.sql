{{ config(incremental_strategy="replace_all", triggers=["every_1h"]) }}
{#- The venues with the number of their markets. Counted once an hour. -#}
with counted as (
  select
    venue, count_if(type = 'perp') as perps, count_if(type = 'spot') as spots,
    count_if(aggregated) as aggregated
  from {{ ref("instruments") }}
  where coalesce(status, 'trading') = 'trading'
  group by venue
)

select
  v.venue,
  v.name,
  v.role,
  coalesce(counted.perps, 0)::integer as perps,
  coalesce(counted.spots, 0)::integer as spots,
  coalesce(counted.aggregated, 0)::integer as aggregated,
  v.liquidations,
  v.liquidations_source as liquidations_note,
  v.oi_factor::double as oi_factor,
  v.oi_source as oi_note,
  v.taker_side::boolean as taker_side
from {{ ref("venues") }} as v
left join counted on v.venue = counted.venue
