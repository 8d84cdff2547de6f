{{ config(incremental_strategy="add_rows", triggers=endpoints_of(["index_books"])) }}
{#- How well each frozen liquidation map predicted the price bins in which longs and shorts were liquidated in the next
    hours: Spearman's rank correlation over the bins that the price then visited, each for longs and for shorts, for the
    map and for a naive map by distance from the price. Written once, when the hours are over and their bars have
    arrived. -#}
{%- set late_ms, least_bins, least_recorded, horizons = 600000, 10, 0.9, [4, 24] %}
{%- set maps, bars, streams = ref("int_liquidation_maps"), ref("int_market_bars"), ref("int_stream_minutes") %}
{%- set liquidations, window = ref("int_liquidations"), source("pipeline", "window_minutes") %}
{%- set of_window = "partition by frozen_ms, horizon_h, market_id" %}
{%- set now_ms = known_ms(window, "max(tick_ms)") %}
{%- set due = maps_to_score(maps, horizons, now_ms - late_ms) %}
{%- set first, last = (due | map("first") | min, now_ms) if due else (0, 0) %}
with due as (
  select frozen_ms::bigint as frozen_ms, horizon_h::integer as horizon_h, frozen_ms + horizon_h * 3600000::bigint as end_ms
  from (
    {% if due %}
    values {% for one in due %}({{ one[0] }}, {{ one[1] }}){{ ", " if not loop.last }}{% endfor %}
    {% else %}
    select 0, 0 where false
    {% endif %}
  ) as listed(frozen_ms, horizon_h)
),

maps as (
  select frozen_ms, market_id, side, bin, usd from {{ maps }} where frozen_ms in (select frozen_ms from due)
),

windows as (
  select d.frozen_ms, d.horizon_h, d.end_ms, m.market_id, any_value(m.venue) as venue, any_value(m.base) as base
  from due as d
  join (select distinct frozen_ms, market_id from maps) as known using (frozen_ms)
  join {{ ref("instruments") }} as m using (market_id)
  group by d.frozen_ms, d.horizon_h, d.end_ms, m.market_id
),

-- The share of the time in which the venue's liquidation stream was connected, by its least connected connection.
listened as (
  select frozen_ms, horizon_h, venue, sum(connected_ms) / (horizon_h * 3600000) as share
  from (
    select w.frozen_ms, w.horizon_h, w.venue, s.tick_ms, min(s.connected_ms) as connected_ms
    from (select distinct frozen_ms, horizon_h, end_ms, venue from windows) as w
    join {{ streams }} as s on w.venue = s.venue and s.tick_ms >= w.frozen_ms and s.tick_ms < w.end_ms
    where s.endpoint = 'liquidations' and s.tick_ms between {{ first }} and {{ last }}
    group by w.frozen_ms, w.horizon_h, w.venue, s.tick_ms
  )
  group by frozen_ms, horizon_h, venue
),

paths as (
  select
    w.frozen_ms, w.horizon_h, w.market_id, min(b.low) as low, max(b.high) as high, arg_min(b.open, b.minute_ms) as open,
    count(*) / (w.horizon_h * 60) as share
  from windows as w
  join {{ bars }} as b on w.market_id = b.market_id and b.minute_ms >= w.frozen_ms and b.minute_ms < w.end_ms
  where b.minute_ms between {{ first }} and {{ last }}
  group by w.frozen_ms, w.horizon_h, w.market_id
),

liquidated as (
  select w.frozen_ms, w.horizon_h, w.market_id, l.side, {{ price_bin("l.price") }} as bin, sum(l.usd) as usd
  from windows as w
  join {{ liquidations }} as l on w.market_id = l.market_id and l.ts >= w.frozen_ms and l.ts < w.end_ms
  where l.usd is not null and l.price > 0 and l.ts between {{ first }} and {{ last }}
  group by w.frozen_ms, w.horizon_h, w.market_id, l.side, bin
),

-- The naive map: higher estimates nearer to the price, longs below it and shorts above it.
bins as (
  select
    v.frozen_ms, v.horizon_h, v.market_id, v.bin, v.side, coalesce(m.usd, 0) as predicted, coalesce(l.usd, 0) as usd,
    if(v.side = 'long', v.bin <= v.middle, v.bin >= v.middle)::integer / (1 + abs(v.bin - v.middle)) as near
  from (
    select
      frozen_ms, horizon_h, market_id, {{ price_bin("open") }} as middle, side,
      unnest(range({{ price_bin("low") }}, {{ price_bin("high") }} + 1)) as bin
    from paths
    cross join (values ('long'), ('short')) as sides(side)
    where low > 0
  ) as v
  left join maps as m on v.frozen_ms = m.frozen_ms and v.market_id = m.market_id and v.side = m.side and v.bin = m.bin
  left join liquidated as l
    on v.frozen_ms = l.frozen_ms and v.horizon_h = l.horizon_h and v.market_id = l.market_id and v.side = l.side and v.bin = l.bin
),

-- Equal values share the mean of their ranks. For the best tenth, ties are broken by price.
ranked as (
  select
    *,
    {% for column in ["predicted", "near", "usd"] %}
    rank() over ({{ of_window }} order by {{ column }})
      + (count(*) over ({{ of_window }}, {{ column }}) - 1) / 2 as {{ column }}_rank,
    {% endfor %}
    {% for column in ["predicted", "near"] %}
    row_number() over ({{ of_window }} order by {{ column }} desc, bin, side)
      <= ceil(count(*) over ({{ of_window }}) / 10) as best_{{ column }}{{ "," if not loop.last }}
    {% endfor %}
  from bins
),

scores as (
  select
    frozen_ms, horizon_h, market_id, (count(*) // 2)::integer as bins, sum(usd) as liquidated_usd,
    corr(predicted_rank, usd_rank) as rho_model, corr(near_rank, usd_rank) as rho_base,
    coalesce(sum(usd) filter (best_predicted and predicted > 0), 0) / nullif(sum(usd), 0) as hit_model,
    coalesce(sum(usd) filter (best_near and near > 0), 0) / nullif(sum(usd), 0) as hit_base
  from ranked
  group by frozen_ms, horizon_h, market_id
),

classified as (
  select
    w.frozen_ms, w.horizon_h, w.market_id, w.base,
    case
      when coalesce(h.share, 0) < {{ least_recorded }} or coalesce(p.share, 0) < {{ least_recorded }} then 'not_recorded'
      when s.bins < {{ least_bins }} or s.liquidated_usd = 0 then 'quiet'
      when s.rho_model is null or isnan(s.rho_model) then 'empty_map'
      else 'scored'
    end as state,
    s.* exclude (frozen_ms, horizon_h, market_id)
  from windows as w
  left join listened as h using (frozen_ms, horizon_h, venue)
  left join paths as p using (frozen_ms, horizon_h, market_id)
  left join scores as s using (frozen_ms, horizon_h, market_id)
)

select
  frozen_ms, horizon_h, market_id, base, state, bins, liquidated_usd,
  {% for column in ["rho_model", "rho_base", "hit_model", "hit_base"] %}
  if(state = 'scored', {{ column }}, null) as {{ column }},
  {% endfor %}
  {{ now_ms }}::bigint as tick_ms
from classified
