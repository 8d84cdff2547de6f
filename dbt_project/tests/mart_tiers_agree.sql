-- The flows of a bucket equal the sums over its parts in the finer tier, and its candle is that of their candles, for each
-- bucket of the newest day. Hours and days of history have bars of their own.
{{ config(meta={'dagster': {'ref': {'name': 'series_market_1d'}}}) }}
with day as (
  select {{ bucket(newest_minute(), "1d") }} as since_ms
)
{% for step in steps() if step not in ("1m", "3d") %}
{%- set finer = finer_step(step) %}
select '{{ step }}' as step, *
from (
  select t, market_id, volume_usd, liq_long_usd, liq_short_usd, funding_n, volume_n, liq_n, candle_n, open, high, low, close, source
  from {{ ref("series_market_" ~ step) }} where t >= (select since_ms from day)
) as whole
full join (
  select
    {{ bucket("t", step) }} as t, market_id, sum(volume_usd) as volume_usd, sum(liq_long_usd) as liq_long_usd,
    sum(liq_short_usd) as liq_short_usd, sum(funding_n) as funding_n,
    sum(volume_n) as volume_n, sum(liq_n) as liq_n, sum(candle_n) as candle_n,
    min_by(open, parts.t) as open, max(high) as high, min(low) as low, max_by(close, parts.t) as close
  from {{ ref("series_market_" ~ finer) }} as parts where t >= (select since_ms from day)
  group by all
) as parts using (t, market_id)
where whole.source is distinct from 'backfilled' and (false
  {%- for column in ["funding_n", "volume_n", "liq_n"] + candle_columns() %}
  or whole.{{ column }} is distinct from parts.{{ column }}
  {%- endfor %}
  {%- for column in ["volume_usd", "liq_long_usd", "liq_short_usd"] %}
  or not {{ same_number("whole." ~ column, "parts." ~ column) }}
  {%- endfor %})
{{ "union all" if not loop.last }}
{% endfor %}
