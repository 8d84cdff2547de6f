{{ config(
  incremental_strategy="replace_keys", replace_keys=["venue"], triggers=endpoints_of(["order_books"])
) }}
{#- The perps whose order books were requested in the newest round of each venue, each with its newest book of the last
    ten minutes. A perp whose request failed stays in the list without figures. -#}
{%- set max_age_ms = 600000 %}
with requested as (
  select distinct venue, key as symbol, tick_ms as requested_ms
  from {{ ref("raw_window") }}
  where endpoint = 'order_books' and key <> ''  -- a row without a key: the list of perps to request was not known yet
  qualify tick_ms = max(tick_ms) over (partition by venue)
),

newest_round as materialized (
  select requested.* from requested
  {% if is_update() %}
  left join (select venue, max(requested_ms) as newest_ms from {{ this }} group by venue) as known using (venue)
  where requested.requested_ms >= coalesce(known.newest_ms, 0)
  {% endif %}
),

-- A list of literals, because DuckDB prunes a scan by the values of a join key.
recent as materialized (
  select distinct venue, requested_ms - unnest(range(0, {{ max_age_ms + 1 }}, 60000)) as tick_ms from newest_round
),

books as (
  select books.* from {{ ref("int_book_depth") }} as books semi join recent using (venue, tick_ms)
  qualify row_number() over (partition by market_id order by tick_ms desc) = 1
),

open_interest as (
  select market_id, max_by(oi_usd, minute_ms) as oi_usd
  from (
    select * from {{ ref("int_market_minutes") }}
    semi join (select venue, tick_ms as minute_ms from recent) as recent using (venue, minute_ms)
  )
  where oi_usd is not null
  group by market_id
)

select
  newest_round.venue, newest_round.symbol, instruments.market_id, instruments.base, requested_ms, books.tick_ms as book_ms,
  coalesce(books.tick_ms < requested_ms, true) as failed,
  open_interest.oi_usd, mid,
  list_transform(depth, lambda band: {
    band_pct: band.band_pct, bid_usd: band.bid_usd, ask_usd: band.ask_usd, total_usd: band.bid_usd + band.ask_usd,
    bid_truncated: band.bid_truncated, ask_truncated: band.ask_truncated
  }) as depth,
  imbalance, imbalance_range_pct, cost_buy_bps, cost_buy_truncated, cost_sell_bps, cost_sell_truncated,
  greatest(bid_levels, ask_levels) as levels
from newest_round
left join {{ ref("instruments") }} as instruments
  on newest_round.venue = instruments.venue and newest_round.symbol = instruments.symbol and instruments.type = 'perp'
left join books on instruments.market_id = books.market_id
left join open_interest on instruments.market_id = open_interest.market_id
