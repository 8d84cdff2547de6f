-- The rolling windows of liquidations equal the series over their whole minutes plus the events of the minute in which
-- a window begins; for every coin and for all coins.
{{ config(meta={'dagster': {'ref': {'name': 'liquidations'}}}) }}
{%- set now_ms = as_of_ms() %}
{%- set windows = {"1h": 3600000, "4h": 14400000, "12h": 43200000, "24h": 86400000} %}
with parts as (
  {%- for name, window_ms in windows.items() %}
  {%- set first_ms = now_ms - window_ms - (now_ms - window_ms) % 60000 + 60000 %}
  select '{{ name }}' as w, base, coalesce(liq_long_usd, 0) + coalesce(liq_short_usd, 0) as usd
  from {{ ref("series_base_1m") }}
  where type = 'perp' and t >= {{ first_ms }} and t <= {{ now_ms - 60000 }}
  union all
  select '{{ name }}', base, usd
  from {{ ref("int_liquidations") }}
  where aggregated and (ts > {{ now_ms - window_ms }} and ts < {{ first_ms }} or ts >= {{ now_ms - now_ms % 60000 }} and ts <= {{ now_ms }})
  {{ "union all" if not loop.last }}
  {%- endfor %}
),

series as (
  select w, base, sum(usd) as usd from parts group by grouping sets ((w, base), (w))
),

live as (
  {%- for name in windows %}
  select '{{ name }}' as w, base, totals['{{ name }}']['long'] + totals['{{ name }}']['short'] as usd from {{ ref("liquidations") }}
  {{ "union all" if not loop.last }}
  {%- endfor %}
)

select live.w, live.base, live.usd, series.usd as series_usd
from live left join series on live.w = series.w and live.base is not distinct from series.base
where live.usd is not null and abs(live.usd - coalesce(series.usd, 0)) > 1e-6 * greatest(live.usd, 1)
