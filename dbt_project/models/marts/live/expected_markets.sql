{{ config(incremental_strategy="replace_all", triggers=["recorded"]) }}
with newest as (
  select venue, type, max(seen_ms) as seen_ms from {{ ref("instruments") }} where metadata group by venue, type
)

select
  seen.market_id, seen.venue, seen.type, seen.base,
  list_concat(
    ['price', 'volume', 'candles'],
    if(seen.type = 'perp', ['oi', 'funding'], []),
    if(seen.type = 'perp' and venues.liquidations <> 'none', ['liquidations'], []),
    if(venues.taker_side, ['taker'], [])
  ) as families,
  least(i.listed_ms, seen.first_ms) as from_ms,
  least(
    i.delisted_ms,
    case
      when {{ not_listed("i", "newest.seen_ms", "seen.last_ms") }} then seen.last_ms + 60000
    end
  ) as to_ms
from {{ ref("market_index") }} as seen
join {{ ref("instruments") }} as i using (market_id)
left join newest on seen.venue = newest.venue and seen.type = newest.type
left join {{ ref("venues") }} as venues on seen.venue = venues.venue
where seen.aggregated
