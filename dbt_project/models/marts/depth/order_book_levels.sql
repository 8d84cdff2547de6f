{{ config(incremental_strategy="replace_keys", replace_keys=["market_id"], triggers=endpoints_of(["order_books"])) }}
{#- The newest book of each perp as a curve: how much rests between the mid and each of these distances from it. -#}
{%- set distances_pct = [0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5] %}
with {{ priced_books("order_books") }},

sides as (
  select
    tick_ms, market_id, side, max(away_pct) as reach_pct,
    [
      {%- for distance in distances_pct %}
      coalesce(sum(notional) filter (away_pct <= {{ distance }}), 0){{ "," if not loop.last }}
      {%- endfor %}
    ] as within
  from priced
  group by tick_ms, market_id, side
)

select
  b.market_id, b.venue, b.symbol, b.base, b.tick_ms as book_ms, b.mid / b.multiplier as mid,
  bid.reach_pct as bid_reach_pct, ask.reach_pct as ask_reach_pct,
  [
    {%- for distance in distances_pct %}
    {
      away_pct: {{ distance }}::double,
      bid_usd: case when b.usd_like and bid.reach_pct >= {{ distance }} then bid.within[{{ loop.index }}] end,
      ask_usd: case when b.usd_like and ask.reach_pct >= {{ distance }} then ask.within[{{ loop.index }}] end
    }{{ "," if not loop.last }}
    {%- endfor %}
  ] as levels
from books as b
join sides as bid on b.tick_ms = bid.tick_ms and b.market_id = bid.market_id and bid.side = 'bid'
join sides as ask on b.tick_ms = ask.tick_ms and b.market_id = ask.market_id and ask.side = 'ask'
{% if is_update() %}
left join {{ this }} as known on b.market_id = known.market_id
where b.tick_ms >= coalesce(known.book_ms, 0)  -- a minute that is built again does not replace a newer book
{% endif %}
qualify row_number() over (partition by b.market_id order by b.tick_ms desc) = 1
