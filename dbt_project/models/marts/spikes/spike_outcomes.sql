{{ config(incremental_strategy="add_rows", triggers=["recorded", "after_history"]) }}
-- The price after each spike: one row per horizon, written once it is known, or known to be missing.
{#- Bars of quiet markets are requested once an hour: a bar that has not arrived after that time and a margin counts as
    missing. #}
{%- set overdue_ms = 75 * 60000 %}
{%- set horizons = [5, 15, 60] %}
{#- Referenced on every path, because dbt reads dependencies while parsing, when nothing is incremental. -#}
{%- set scope = source("pipeline", "builds") %}
{%- set newest = "(select max(tick_ms) from " ~ source("pipeline", "window_minutes") ~ ")" %}
with open as (
  select s.id, s.ts, s.market_id, s.dir, s.price, h.horizon_min, s.ts + h.horizon_min * 60000 as minute_ms
  from {{ ref("spikes") }} as s
  cross join unnest({{ horizons }}) as h(horizon_min)
  where s.ts + h.horizon_min * 60000 < {{ newest }}
  {% if is_update() %}
    -- Older outcomes are written already: the previous build wrote them when they were overdue. The exception are
    -- spikes that are only found now, in bars that arrived hours late.
    and (
      s.ts >= least(
        (select min(tick_ms) from {{ source("pipeline", "window_minutes") }}),
        (select max(list_max(built_minutes)) from {{ source("pipeline", "builds") }})
      ) - {{ horizons[-1] * 60000 + overdue_ms }}
      or s.tick_ms in (select tick_ms from {{ source("pipeline", "window_minutes") }})
    )
    and (s.id, h.horizon_min) not in (select (o.id, o.horizon_min) from {{ this }} as o)
  {% endif %}
),

closes as (
  select b.minute_ms, b.market_id, b.close
  from {{ ref("int_market_bars") }} as b
  where b.minute_ms in (select minute_ms from open) and (b.minute_ms, b.market_id) in (select (minute_ms, market_id) from open)
),

seen as (
  select o.*, c.close / o.price - 1 as return
  from open as o
  left join closes as c on o.minute_ms = c.minute_ms and o.market_id = c.market_id
)

select
  id, ts, horizon_min, minute_ms + 60000 as due_ms,
  case when return is null then 'unavailable' else 'observed' end as state,
  case when return is null then 'missing_outcome' end as reason,
  return,
  case dir when 'buy' then return when 'sell' then -return end as directional_return,
  {{ newest }} as tick_ms
from seen
where return is not null or minute_ms + {{ overdue_ms }} <= {{ newest }}
