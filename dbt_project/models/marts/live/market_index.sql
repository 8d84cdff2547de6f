{{ config(incremental_strategy="replace_keys", replace_keys=["market_id"]) }}
{#- Every market ever recorded, or found in history (with the start of the day as time). A build reads only the rows
    that it restated and the markets that they belong to. -#}
{%- set scope = source("pipeline", "window_minutes") %}
{%- set touched = ref("touched_markets") %}
with {% if is_update() %}
whole as materialized (
  select tick_ms as t from ({{ whole_minutes() }})
),

-- A late row between a market's first and last time changes neither them nor its newest identity.
late as materialized (
  select distinct minute_ms as t, touched.market_id from {{ touched }} as touched
  anti join {{ this }} as known
    on touched.market_id = known.market_id and touched.minute_ms >= known.first_ms and touched.minute_ms < known.last_ms
  where step = '1m'
),
{% endif %}
recorded as (
  {% if is_update() %}{{ touched_rows(ref("series_market_1m"), "1m", "market_id", "t", 60000) }}
  {% else %}select * from {{ ref("series_market_1m") }}{% endif %}
  union all by name
  select days.* from {{ ref("series_market_1d") }} as days
  {% if is_update() %}
  semi join (
    select distinct {{ bucket("minute_ms", "1d") }} as t, market_id from {{ touched }} where step <> '1m'
  ) as touched using (t, market_id)
  {% endif %}
  where source <> 'recorded'
),

seen as (
  select
    market_id, venue, type, symbol,
    max_by({base: base, quote: quote, hip3: hip3, aggregated: aggregated}, t) as identity,
    min(t) as first_ms, max(t) as last_ms
  from recorded
  group by market_id, venue, type, symbol
  {% if is_update() %}
  union all
  select market_id, venue, type, symbol, {base: base, quote: quote, hip3: hip3, aggregated: aggregated}, first_ms, last_ms
  from {{ this }}
  where market_id in (select market_id from recorded)
  {% endif %}
)

select
  market_id, venue, type, symbol, max_by(identity, last_ms).base as base, max_by(identity, last_ms).quote as quote,
  max_by(identity, last_ms).hip3 as hip3, max_by(identity, last_ms).aggregated as aggregated,
  min(first_ms) as first_ms, max(last_ms) as last_ms
from seen
group by market_id, venue, type, symbol
