{{ config(incremental_strategy="replace_all") }}
{#- A list is requested once an hour: a market that the newest list of its venue leaves out is two hours behind it. -#}
{%- set behind_ms = 7200000 %}
with newest as (
  select venue, type, max(seen_ms) as seen_ms from {{ ref("instruments") }} where metadata group by venue, type
)

select
  seen.market_id, seen.venue, seen.type, seen.base,
  list_concat(
    ['price', 'volume'],
    if(seen.type = 'perp', ['oi', 'funding'], []),
    if(seen.type = 'perp' and venues.liquidations <> 'none', ['liquidations'], []),
    if(venues.taker_side, ['taker'], [])
  ) as families,
  least(i.listed_ms, seen.first_ms) as from_ms,
  least(
    i.delisted_ms,
    case
      when i.status <> 'trading' or i.seen_ms < newest.seen_ms - {{ behind_ms }}
        or (not i.metadata and seen.last_ms < {{ newest_minute() }} - {{ behind_ms }})
        then seen.last_ms + 60000
    end
  ) as to_ms
from {{ ref("market_index") }} as seen
join {{ ref("instruments") }} as i using (market_id)
left join newest on seen.venue = newest.venue and seen.type = newest.type
left join {{ ref("venues") }} as venues on seen.venue = venues.venue
where seen.aggregated
