{{ config(incremental_strategy="replace_all") }}
-- What a build touches beside the minutes it recorded: bars and liquidations that belong to other minutes.
with window_ticks as (
  select tick_ms from {{ source("pipeline", "window_ticks") }}
),

facts as (
  select minute_ms, market_id, base from {{ ref("int_market_bars") }} semi join window_ticks using (tick_ms)
  union
  select {{ bucket("ts", "1m") }}, market_id, base from {{ ref("int_liquidations") }} semi join window_ticks using (tick_ms)
)

select minute_ms, market_id, base from facts where minute_ms not in (select tick_ms from window_ticks)
