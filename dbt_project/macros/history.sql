{#- How hours and days of history enter the series: only where a market has no recorded row. A row that was rolled up from
    backfilled parts alone takes their values, column by column; but the flows of an hour whose minutes were all fetched are the
    sums of these, and its candle is theirs. -#}

{#- The end of a tier's query, after the CTEs `rolled`, `whole` and `late`: rolled rows, and what history adds to them. -#}
{% macro with_history_of(step) %}
{%- if not meets_history(step) %}
select *{% if step == "1h" %}, null::bigint as known_ms, {{ no_versions("rolled") }} as earlier{% endif %}
from rolled
{%- else %}
{%- set bars, oi_history, settled, instruments = ref("int_history_bars"), ref("int_history_oi"), ref("int_settlements"), ref("instruments") %}
{%- set columns = ["price", "volume_usd", "taker_buy_usd", "taker_sell_usd", "oi_usd", "oi_base", "funding_8h"] + candle_columns()[:4] %}
,

-- Buckets without a recorded row, which history may fill.
open_buckets as materialized (
  {% if is_update() %}
  select t, market_id
  from (
    select distinct {{ bucket("minute_ms", step) }} as t, market_id from {{ ref("touched_markets") }}
    where step in {{ history_steps(step) }} and step <> '1m'
    union
    select t, market_id from rolled where source = 'backfilled'
  )
  anti join (select t, market_id from rolled where source <> 'backfilled') as known using (t, market_id)
  {% if step == "1h" %}
  anti join (
    select t, market_id from {{ this }}
    where source is distinct from 'backfilled' and t in (select {{ bucket("minute_ms", step) }} from {{ ref("touched_markets") }} where step = '1h')
  ) as stored using (t, market_id)
  {% endif %}
  {% else %}
  select t, market_id from {{ bars }} where step = '{{ step }}'
  union
  select {{ bucket("(t - 1)", step) }}, market_id from {{ oi_history }} where {{ history_periods(step) }}
  {% if step == "1h" %}
  union
  select {{ bucket("(settled_ms - 1)", step) }}, market_id from {{ settled }} where funding_8h is not null
  {% endif %}
  except
  select t, market_id from rolled where source <> 'backfilled'
  {% endif %}
),

published_bars as (
  select b.t, b.market_id, b.open, b.high, b.low, b.close, b.volume_usd, b.taker_buy_usd, b.taker_sell_usd
  from {{ bars }} as b semi join open_buckets using (t, market_id)
  where step = '{{ step }}'
),

published_oi as (
  -- A bucket has the last open interest in it, which is that of its end, as that of a recorded one is.
  select {{ bucket("(t - 1)", step) }} as bucket_t, market_id, max_by(oi_base, t) as oi_base, max_by(oi_usd, t) as oi_usd
  from {{ oi_history }}
  -- Where no bucket is open, as in most minutes, this reads nothing of the table.
  join (select market_id, min(t) as first_t, max(t) as last_t from open_buckets group by market_id) as wanted using (market_id)
  where {{ history_periods(step) }} and t > first_t and t <= last_t + {{ step_ms(step) }}
  group by bucket_t, market_id
),
{% if step == "1h" %}
published_funding as (
  -- The first settlement after the hour began, if it closes an interval that the hour lies in.
  select hours.t, hours.market_id, s.funding_8h, {{ bucket("(s.settled_ms - 1)", step) }} = hours.t as ends
  from open_buckets as hours
  asof join (
    select market_id, settled_ms, interval_h, funding_8h from {{ settled }}
    where market_id in (select market_id from open_buckets) and funding_8h is not null
  ) as s on hours.market_id = s.market_id and hours.t < s.settled_ms
  where s.settled_ms - s.interval_h * 3600000 < hours.t + {{ step_ms(step) }}
),
{% endif %}
published as (
  select
    o.t, o.market_id, if(i.usd_like, b.close, null) as price, b.volume_usd, b.taker_buy_usd, b.taker_sell_usd,
    coalesce(h.oi_usd, h.oi_base * if(i.usd_like, b.close, null)) as oi_usd,
    coalesce(h.oi_base, h.oi_usd / if(i.usd_like, nullif(b.close, 0), null)) as oi_base,
    {{ "f.funding_8h" if step == "1h" else "null::double" }} as funding_8h,
    {{ candle_of("b", "i.usd_like") }}
  from open_buckets as o
  left join published_bars as b using (t, market_id)
  left join published_oi as h on o.t = h.bucket_t and o.market_id = h.market_id
  {% if step == "1h" %}left join published_funding as f using (t, market_id){% endif %}
  left join {{ instruments }} as i on o.market_id = i.market_id
  -- A settlement without other data makes a row only for the last hour of its interval.
  where b.close is not null or h.market_id is not null{% if step == "1h" %} or f.ends{% endif %}
),

added as (
  select
    t, market_id, i.venue, i.type, i.symbol, i.base, i.quote, i.hip3, i.aggregated,
    {% for column in columns %}
    {%- set minutes = "rolled.candle_n" if column in candle_columns() else "rolled.volume_n" %}
    {%- if step == "1h" and column in bar_columns() %}if({{ minutes }} = 60, rolled.{{ column }}, coalesce(published.{{ column }}, rolled.{{ column }}))
    {%- else %}coalesce(published.{{ column }}, rolled.{{ column }}){% endif %} as {{ column }}, {% endfor %}
    rolled.vol24h_usd,
    -- One per minute of the bucket, so that every hour has the same weight in coarser tiers.
    case when published.funding_8h is not null then {{ step_ms(step) // 60000 }} else coalesce(rolled.funding_n, 0) end as funding_n,
    case when published.volume_usd is not null then {{ step_ms(step) // 60000 }} else coalesce(rolled.volume_n, 0) end as volume_n,
    case when published.open is not null then {{ step_ms(step) // 60000 }} else coalesce(rolled.candle_n, 0) end as candle_n,
    coalesce(rolled.liq_n, 0) as liq_n,
    rolled.liq_long_usd, rolled.liq_short_usd, 'backfilled' as source
  from published
  left join rolled using (t, market_id)
  join {{ instruments }} as i using (market_id)
  where coalesce({% for column in columns %}published.{{ column }}{{ ", " if not loop.last }}{% endfor %}) is not null
)

{% if step == "1h" %},

all_hours as ({% endif %}
select * from rolled anti join added using (t, market_id)
union all by name
select * from added
{% if is_update() %}
-- Whole buckets are deleted and inserted: the backfilled rows that earlier builds stored are inserted again.
union all by name
select stored.*
from {{ this }} as stored
semi join whole using (t)
anti join rolled using (t, market_id)
anti join added using (t, market_id)
where stored.source = 'backfilled'
{% endif %}
{% if step == "1h" %}
)

{{ hours_as_known() }}
{% endif %}
{%- endif %}
{% endmacro %}

{#- False for an update that has no history to fill in and none to keep, as most minutes: neither brought the window any, nor is
    any in the buckets that it touches, of this tier or of the finer one. A statement without it takes a tenth less. -#}
{% macro meets_history(step) %}
  {%- if not is_update() %}{{ return(true) }}{% endif -%}
  {%- set touched = run_query("select min(t), max(t), count(*) filter (step <> '1m') from (select " ~ bucket("minute_ms", step) ~ " as t, step from "
    ~ ref("touched_markets") ~ " where step in " ~ history_steps(step) ~ " union all select " ~ bucket("tick_ms", step) ~ ", '1m' from ("
    ~ whole_minutes() ~ "))").rows[0] -%}
  {%- set held -%}
    exists (from {relation} where t between {{ touched[0] or 0 }} and {{ (touched[1] or 0) + step_ms(step) - 1 }} and source = 'backfilled')
  {%- endset -%}
  {%- set ever = " or exists (from " ~ this ~ " where t between " ~ (touched[0] or 0) ~ " and " ~ (touched[1] or 0) ~ " and known_ms is not null)" -%}
  {{ return(touched[2] > 0 or run_query("select " ~ held | replace("{relation}", ref("series_market_" ~ finer_step(step)) | string) ~ " or "
    ~ held | replace("{relation}", this | string) ~ (ever if step == "1h" else "")).rows[0][0]) }}
{% endmacro %}

{#- Hours of history with the stamps of known.sql. A recorded hour needs none: its minutes have them. -#}
{% macro hours_as_known() %}
{%- if is_update() %}
select
  fresh.* exclude (known_ms, earlier), coalesce(stored.known_ms, case when fresh.source = 'backfilled' then {{ as_of_ms() }} end)::bigint as known_ms,
  {% set changed %}stored.source = 'backfilled' and ({{ any_differs("stored", "fresh", observed_columns() + bar_columns() + ["source"]) }}){% endset %}
  {{ earlier_versions("stored", changed) }} as earlier
from all_hours as fresh
left join (
  select * from {{ this }}
  where known_ms is not null and t between (select min(t) from all_hours) and (select max(t) from all_hours)
) as stored using (t, market_id)
{% else %}
select *, case when source = 'backfilled' then {{ as_of_ms() }} end::bigint as known_ms, {{ no_versions("all_hours") }} as earlier
from all_hours
{% endif %}
{% endmacro %}

{#- The open-interest observations of a tier: periods up to an hour belong to 1h, from which 1d is rolled up. -#}
{% macro history_periods(step) -%}
period_ms {{ "<=" if step == "1h" else ">" }} 3600000
{%- endmacro %}
