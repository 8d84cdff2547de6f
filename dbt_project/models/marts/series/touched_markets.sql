{{ config(incremental_strategy="replace_all", tags=["window"]) }}
-- What a build touches besides the minutes that it recorded: bars, liquidations and open interest of other minutes, and
-- the hours and days of history.
{#- By name, because the hours are built after this model: these are the ones of the builds before. -#}
{%- set hours = this.incorporate(path={"identifier": "series_market_1h"}) if is_update() else none %}
with window_minutes as (
  select tick_ms from {{ source("pipeline", "window_minutes") }}
),
whole_minutes as (
  {{ whole_minutes() }}
),
restated_minutes as (
  {{ restated_minutes() }}
),
bars as materialized (
  select minute_ms, market_id, base, tick_ms from {{ ref("int_market_bars") }}
  semi join (from whole_minutes union from restated_minutes) using (tick_ms)
  where source is distinct from 'backfilled'
),
-- A bar of a minute that was not recorded makes a row of the series, and does not wait.
recorded as (
  select tick_ms as minute_ms from {{ ref("int_response_minutes") }} semi join (select minute_ms as tick_ms from bars) using (tick_ms)
),
built as (
  select tick_ms, venue from {{ source("pipeline", "window_built") }}
),
history_oi as (
  from {{ ref("int_history_oi") }} semi join window_minutes using (tick_ms) anti join built using (tick_ms, venue)
),
-- A settlement concerns the hours of its interval that were not recorded: the others have the rates that were observed.
settled as materialized (
  select
    {{ bucket("unnest(range((settled_ms - interval_h * 3600000)::bigint, settled_ms, 3600000))", "1h") }} as minute_ms, market_id, base
  from {{ ref("int_settlements") }} semi join window_minutes using (tick_ms)
  where interval_h is not null
),
facts as (
  select '1m' as step, minute_ms, market_id, base from bars
  where if({{ is_late() }} and minute_ms in (from recorded), tick_ms in (from restated_minutes), tick_ms in (from whole_minutes))
  union
  select '1m', minute_ms, market_id, base from {{ ref("int_market_bars") }} semi join window_minutes using (tick_ms) anti join built using (tick_ms, venue)
  where source = 'backfilled'
  union
  select '1m', {{ bucket("ts", "1m") }}, market_id, base from {{ ref("int_liquidations") }} semi join whole_minutes using (tick_ms)
  union
  select step, t, market_id, base from {{ ref("int_history_bars") }} semi join window_minutes using (tick_ms) anti join built using (tick_ms, venue)
  union
  select if(period_ms > 3600000, '1d', '1h'), if(period_ms > 3600000, {{ bucket("(t - 1)", "1d") }}, {{ bucket("(t - 1)", "1h") }}), market_id, base
  from history_oi
  union
  select '1m', oi.t, market_id, oi.base
  from history_oi as oi
  semi join {{ ref("int_market_bars") }} as bars on oi.market_id = bars.market_id and oi.t = bars.minute_ms
  where oi.period_ms = 300000
  union
  select '1h', minute_ms, market_id, base
  from settled
  {% if hours and load_cached_relation(hours) %}
  anti join (
    select t as minute_ms, market_id from {{ hours }}
    where source is distinct from 'backfilled' and t in (select minute_ms from settled)
  ) using (minute_ms, market_id)
  {% endif %}
)

select step, minute_ms, market_id, base from facts where step <> '1m' or minute_ms not in (from whole_minutes)
