{{ config(incremental_strategy="replace_keys", replace_keys=["t", "venue", "metric"], replace_on="t", triggers=["every_1h", "after_history"]) }}
{#- How far recorded values are from what the venue's own history says of the same time. A day is compared when it is
    over, and again whenever more of its history has been fetched. -#}
{%- set day_ms, hour_ms, minute_ms, days_back = 86400000, 3600000, 60000, 7 %}
{%- set last = last_day_ms(newest_minute_ms()) %}
{%- set recorded_ms = recorded_since_ms() // day_ms * day_ms %}
{%- set begin = [last - days_back * day_ms, recorded_ms] | max %}
{%- set hours, minutes = ref("series_market_1h"), ref("series_market_1m") %}
{%- set bars, oi_history, settlements = ref("int_history_bars"), ref("int_history_oi"), ref("int_settlements") %}
{%- set liquidated = ref("int_history_liquidations") %}
{%- set fetched -%}
  select t // {{ day_ms }} * {{ day_ms }} as t, max(tick_ms) as tick_ms
  from (
    select t, tick_ms from {{ bars }} where step = '1h' and t between {{ begin }} and {{ last + day_ms - 1 }}
    union all
    select t, tick_ms from {{ oi_history }}
    where period_ms <= {{ hour_ms }} and t between {{ begin }} and {{ last + day_ms - 1 }}
    union all
    select t, tick_ms from {{ liquidated }} where period_ms = {{ hour_ms }} and t between {{ begin }} and {{ last + day_ms - 1 }}
    union all
    select settled_ms, tick_ms from {{ settlements }} where settled_ms between {{ begin }} and {{ last + day_ms - 1 }}
  )
  group by all
{%- endset %}
{%- set open_days -%}
  select t, tick_ms from (
    {{ fetched }}
    {%- if is_update() %}
    except
    select t, max(fetched_ms) from {{ this }} group by t
    {%- endif %}
  )
{%- endset %}
{%- set first = first_of(bars, open_days, last + day_ms) %}
with days as (
  {{ open_days }}
),

-- Hours of which every part was recorded, beside the venue's bar of the hour.
recorded_hours as (
  select h.t, h.market_id, h.venue, h.price, h.volume_usd, h.liq_long_usd, h.liq_short_usd, h.liq_n
  from {{ hours }} as h
  where h.t >= {{ first }} and h.t < {{ last + day_ms }} and h.source = 'recorded'
),

pairs as (
  select h.t, h.market_id, h.venue, 'price' as metric, h.price as served, b.close as published, abs(b.close) as scale
  from recorded_hours as h
  join {{ bars }} as b on h.market_id = b.market_id and h.t = b.t and b.step = '1h'
  where b.volume_usd is not null
  union all
  select h.t, h.market_id, h.venue, 'volume', h.volume_usd, b.volume_usd as published, b.volume_usd as scale
  from recorded_hours as h
  join {{ bars }} as b on h.market_id = b.market_id and h.t = b.t and b.step = '1h'
  union all
  select
    o.t, o.market_id, o.venue, 'oi', if(o.oi_base is null, m.oi_usd, m.oi_base), coalesce(o.oi_base, o.oi_usd) as published,
    coalesce(o.oi_base, o.oi_usd) as scale
  from {{ oi_history }} as o
  join {{ minutes }} as m on o.market_id = m.market_id and o.t = m.t
  where o.period_ms <= {{ hour_ms }} and o.t >= {{ first }} and o.t < {{ last + day_ms }} and m.t >= {{ first }} and m.source = 'recorded'
  union all
  -- Hours in which the feed was connected in every minute, and something was liquidated.
  select
    h.t, h.market_id, h.venue, 'liquidations', h.liq_long_usd + h.liq_short_usd, l.long_usd + l.short_usd as published,
    greatest(l.long_usd + l.short_usd, h.liq_long_usd + h.liq_short_usd)
  from recorded_hours as h
  join {{ liquidated }} as l on h.market_id = l.market_id and h.t = l.t and l.period_ms = {{ hour_ms }}
  where h.liq_n = {{ hour_ms // minute_ms }}
  union all
  -- The last quote before the settlement. A rate near zero is compared with the usual rate of 0.01 %.
  select s.settled_ms, s.market_id, s.venue, 'funding', m.funding_8h, s.funding_8h as published, greatest(abs(s.funding_8h), 0.0001)
  from {{ settlements }} as s
  join {{ minutes }} as m on s.market_id = m.market_id and m.t = s.settled_ms - {{ minute_ms }}
  where s.settled_ms >= {{ first }} and s.settled_ms < {{ last + day_ms }} and m.t >= {{ first - minute_ms }} and m.source = 'recorded'
),

differences as (
  select *, t // {{ day_ms }} * {{ day_ms }} as day_ms, abs(served - published) / scale as difference
  from pairs
  where served is not null and published is not null and scale > 0
),

recorded_minutes as (
  select t // {{ day_ms }} * {{ day_ms }} as day_ms, venue, count(distinct t) as minutes
  from {{ minutes }}
  where t >= {{ first }} and t < {{ last + day_ms }} and source = 'recorded'
  group by all
)

select
  d.day_ms as t, d.venue, d.metric,
  count(*)::integer as n,
  quantile_cont(d.difference, 0.5) as median_difference,
  any_value(limits.allowed_difference) as allowed_difference,
  quantile_cont(d.difference, 0.99) as p99_difference,
  max(d.difference) as worst_difference,
  max_by(d.market_id, d.difference) as worst_market_id,
  max_by(d.t, d.difference) as worst_ms,
  max_by(d.served, d.difference) as worst_served,
  max_by(d.published, d.difference) as worst_published,
  ({{ day_ms // minute_ms }} - coalesce(any_value(m.minutes), 0))::integer as minutes_missing,
  any_value(days.tick_ms) as fetched_ms,
  {{ written_minute() }} as tick_ms
from differences as d
join days on d.day_ms = days.t
left join {{ ref("accuracy_limits") }} as limits on d.metric = limits.metric
left join recorded_minutes as m on d.day_ms = m.day_ms and d.venue = m.venue
group by d.day_ms, d.venue, d.metric
