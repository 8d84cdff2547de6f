{{ config(incremental_strategy="add_rows", triggers=endpoints_of(["index_books"])) }}
{#- The summary of the liquidation map's scores, written once for each completed day: over the days up to it, and
    whether the map did better than distance from the price alone. -#}
{%- set window_days, least_scored, least_days, draws, horizons, day_ms = 90, 30, 5, 2000, [4, 24], 86400000 %}
{%- set scores, window = ref("liquidation_map_scores"), source("pipeline", "window_minutes") %}
{%- set now_ms = known_ms(window, "max(tick_ms)") %}
{%- set days = days_to_judge(scores, now_ms) %}
with completed as (
  select unnest({{ days }}::bigint[]) as day_ms
),

-- Windows of one day overlap, and its perps move together: a day's median is one observation.
daily as (
  select
    c.day_ms, s.horizon_h, s.frozen_ms // {{ day_ms }} as day, count(*) as n,
    {% for column in ["rho_model", "rho_base", "hit_model", "hit_base"] %}
    median(s.{{ column }}) as {{ column }},
    {% endfor %}
    median(s.rho_model - s.rho_base) as difference
  from completed as c
  join {{ scores }} as s on s.frozen_ms >= c.day_ms - {{ (window_days - 1) * day_ms }} and s.frozen_ms < c.day_ms + {{ day_ms }}
  where s.state = 'scored'
  group by c.day_ms, s.horizon_h, day
),

ordered as (
  select
    *, row_number() over (partition by day_ms, horizon_h order by day) - 1 as place,
    count(*) over (partition by day_ms, horizon_h) as days
  from daily
),

-- The bootstrap: days are drawn with replacement by a hash, so that a rebuild draws the same ones.
drawn as (
  select o.day_ms, o.horizon_h, b.draw, median(d.difference) as difference
  from ordered as o
  cross join (select unnest(range({{ draws }})) as draw) as b
  join ordered as d
    on o.day_ms = d.day_ms and o.horizon_h = d.horizon_h
    and d.place = md5_number_lower(b.draw || ' ' || o.place) % o.days
  where o.days >= {{ least_days }}
  group by o.day_ms, o.horizon_h, b.draw
),

intervals as (
  select day_ms, horizon_h, quantile_cont(difference, 0.025) as low, quantile_cont(difference, 0.975) as high
  from drawn
  group by day_ms, horizon_h
),

found as (
  select
    day_ms, horizon_h, sum(n)::integer as sample, count(*)::integer as days, min(day) * {{ day_ms }} as from_ms,
    {% for column in ["rho_model", "rho_base", "hit_model", "hit_base"] %}
    median({{ column }}) as {{ column }},
    {% endfor %}
    median(difference) as difference
  from daily
  group by day_ms, horizon_h
)

select
  c.day_ms, h.horizon_h::integer as horizon_h, strftime(make_timestamp_ms(c.day_ms), '%Y-%m-%d') as day,
  coalesce(f.sample, 0) as sample, coalesce(f.days, 0) as days, f.from_ms, f.rho_model, f.rho_base, f.hit_model, f.hit_base,
  f.difference, i.low as difference_low, i.high as difference_high,
  case
    when coalesce(f.sample, 0) < {{ least_scored }} then 'insufficient'
    when i.low > 0 then 'better'
    when i.high < 0 then 'worse'
    else 'inconclusive'
  end as verdict,
  {{ now_ms }}::bigint as tick_ms
from completed as c
cross join (select unnest({{ horizons }}) as horizon_h) as h
left join found as f on c.day_ms = f.day_ms and h.horizon_h = f.horizon_h
left join intervals as i on c.day_ms = i.day_ms and h.horizon_h = i.horizon_h
