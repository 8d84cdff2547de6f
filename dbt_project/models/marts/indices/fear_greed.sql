{{ config(incremental_strategy="replace_keys", replace_keys=["t", "formula_version"], replace_on="t", triggers=["every_1h", "after_history"]) }}
{#- Greed and fear in derivatives: four readings per day, each ranked among its values of the year before. A completed
    day is written once, with its readings; the current day is provisional. -#}
{%- set version, year, least_days, change_days, top_bases, day_ms = 1, 365, 30, 7, 20, 86400000 %}
{%- set components = ["funding", "oi", "ls", "liq"] %}
{%- set now_ms = newest_minute_ms() %}
{%- set last, today = last_day_ms(now_ms), now_ms // day_ms * day_ms %}
{%- set final = history_is_complete(now_ms) %}
{%- set venues = var("snapshot_ratios") | selectattr(1, "equalto", "accounts") | map(attribute=0) | list %}
{%- set markets, ratios = ref("series_market_1d"), ref("series_ratios_1d") %}
{#- Twice the served days, because each served day is ranked among the days before it. -#}
{%- set open_days -%}
  select distinct t from {{ ref("series_base_1d") }}
  where t between {{ today - 2 * year * day_ms }} and {{ today }}
  {%- if is_update() %} and t not in (select t from {{ this }} where final and formula_version = {{ version }}){% endif %}
{%- endset %}
{%- set first = first_of(ref("series_base_1d"), open_days, today) %}
with days as (
  {{ open_days }}
),

perps as materialized (
  select t, market_id, base, oi_usd, funding_8h, liq_long_usd, liq_short_usd
  from {{ markets }}
  where t between {{ first - change_days * day_ms }} and {{ today }} and type = 'perp' and aggregated
),

-- Funding and liquidations of all perps. Open interest only of perps known on both days, so that a venue that is added
-- or removed causes no change.
perp_readings as (
  select
    now.t, {{ weighted_mean("now.funding_8h", "now.oi_usd") }} as funding,
    sum(now.oi_usd) filter (past.oi_usd > 0) / sum(past.oi_usd) filter (past.oi_usd > 0 and now.oi_usd is not null) - 1 as oi,
    sum(now.liq_short_usd) / nullif(sum(now.liq_short_usd) + sum(now.liq_long_usd), 0) as liq
  from perps as now
  left join perps as past on now.market_id = past.market_id and past.t = now.t - {{ change_days * day_ms }}
  semi join days on now.t = days.t
  group by now.t
),

-- The long fraction of all accounts of a coin: the mean of the venues, weighted by open interest.
longs as (
  select t, base, avg(share) as share
  from (
    select t, base, venue, {{ weighted_mean("accounts", "oi_usd", fallback="avg(accounts)") }} as share
    from {{ ratios }}
    where
      t between {{ first }} and {{ today }} and aggregated and accounts is not null
      and venue in ('{{ venues | join("', '") }}')
    group by t, base, venue
  )
  group by t, base
),

crowd as (
  select t, {{ weighted_mean("share", "oi_usd") }} as ls
  from (
    select t, base, share, oi.oi_usd
    from longs
    join (select t, base, sum(oi_usd) as oi_usd from perps group by t, base) as oi using (t, base)
    where oi.oi_usd > 0
    qualify row_number() over (partition by t order by oi.oi_usd desc, base) <= {{ top_bases }}
  )
  group by t
),

readings as materialized (
  select t, true as is_open, funding, oi, ls, liq
  from days
  left join perp_readings using (t)
  left join crowd using (t)
  {% if is_update() %}
  union all
  select t, false, funding, oi, ls, liq from {{ this }} where final and formula_version = {{ version }}
  {% endif %}
),

long_form as (
  unpivot readings on {{ components | join(", ") }} into name component value reading
),

ranks as (
  select
    now.t, now.component, count(*) as n,
    100 * (count(*) filter (past.reading < now.reading) + count(*) filter (past.reading = now.reading) / 2) / count(*)
      as percentile
  from long_form as now
  join long_form as past
    on now.component = past.component and past.t between now.t - {{ year * day_ms }} and now.t - {{ day_ms }}
  where now.is_open
  group by now.t, now.component
  having n >= {{ least_days }}
),

indices as (
  select
    t,
    {% for component in components %}
    max(if(component = '{{ component }}', percentile, null)) as {{ component }}_percentile,
    {% endfor %}
    list(component) as present
  from ranks
  group by t
),

scored as (
  select
    *,
    (
      {% for component in components %}
      coalesce({{ component }}_percentile, 0){{ " + " if not loop.last }}
      {% endfor %}
    ) / len(present) as exact,
    floor(exact + 0.5)::integer as value
  from indices
)

select
  t, {{ version }} as formula_version, readings.funding, readings.oi, readings.ls, readings.liq,
  {% for component in components %}
  scored.{{ component }}_percentile,
  {% endfor %}
  scored.exact, scored.value,
  case
    when scored.value <= 24 then 'Extreme Fear' when scored.value <= 44 then 'Fear' when scored.value <= 55 then 'Neutral'
    when scored.value <= 75 then 'Greed' when scored.value is not null then 'Extreme Greed'
  end as label,
  t <= {{ last }} and {{ final | string | lower }} as final,
  {{ written_minute() }} as tick_ms
from readings
left join scored using (t)
where readings.is_open
