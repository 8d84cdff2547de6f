{{ config(incremental_strategy="replace_keys", replace_keys=["lookback", "base"], only_with=["every_1h"]) }}
{#- What prices did after volume spikes, by coin and over all coins (base ''), by window and horizon; once an hour. Of
    builder-deployed markets the split by exchange tells, the rest only where they alone have spikes of the coin. -#}
{%- set windows, horizons, coin_horizon, few = {"7d": 7, "30d": 30, "all": 0}, [5, 15, 60], 60, 30 %}
{%- set now_ms = as_of_ms() %}
{#- Named on every path: dbt reads dependencies while parsing, when nothing runs. -#}
{%- set scope = source("pipeline", "settings") ~ ref("recording_runs") %}
{%- set aggregates -%}
  count(*)::integer as sample, count(distinct dir) = 2 as mixed, count(*) filter (state = 'observed')::integer as observed,
    count(*) filter (state = 'unavailable')::integer as unavailable, min(ts) as first_ms, max(ts) as last_ms,
    count(turned)::integer as n, count(*) filter (turned > 0)::integer as hits,
    count(*) filter (turned is not null and dir = 'buy') as buys, count(*) filter (turned is not null and moved > 0) as ups,
    count(*) filter (turned is not null and moved < 0) as downs, quantile_cont(turned, [0.25, 0.5, 0.75]) as quartiles,
    avg(turned) as mean, min(if(turned is null, null, ts)) as from_ms, max(if(turned is null, null, ts)) as to_ms,
    count(distinct if(turned is null, null, {coin: coin, slot: ts // (horizon_min * 60000)}))::integer as n_independent
{%- endset %}
{%- set figures -%}
  list({
      horizon_min: horizon_min, n: n, hits: hits, hit_rate: hits / nullif(n, 0),
      base_rate: (buys * ups + (n - buys) * downs) / nullif(n, 0) / n,
      q1: quartiles[1], median: quartiles[2], q3: quartiles[3], mean: mean, first_ms: from_ms, last_ms: to_ms,
      n_independent: n_independent, low_n: n < {{ few }}
    } order by horizon_min)
{%- endset %}
with alerts as materialized (
  select
    id, ts, coalesce(base, symbol) as coin, venue, coalesce(hip3, false) as hip3, dir,
    not coalesce(hip3, false) or bool_and(coalesce(hip3, false)) over (partition by coalesce(base, symbol)) as counted
  from {{ ref("spikes") }}
),

-- Each alert under its coin and under all coins.
scopes as materialized (
  select *, coin as base from alerts
  union all
  select * replace (not hip3 as counted), '' as base from alerts
),

asked as (
  select lookback, if(days = 0, (select coalesce(min(ts), {{ now_ms }}) from alerts), {{ now_ms }} - days * 86400000) as since_ms
  from {{ named_windows(windows) }}
),

-- An outcome without a row is pending.
judged as materialized (
  select asked.lookback, s.*, due.horizon_min, o.state, o.return as moved, o.directional_return as turned
  from scopes as s
  join asked on s.ts >= asked.since_ms
  cross join (select unnest({{ horizons }})::integer as horizon_min) as due
  left join {{ ref("spike_outcomes") }} as o on s.id = o.id and due.horizon_min = o.horizon_min
),

wholes as (
  select lookback, base, horizon_min, {{ aggregates }}
  from judged
  where counted
  group by lookback, base, horizon_min
),

totals as (
  select
    lookback, base, any_value(sample) as sample, any_value(mixed) as mixed, bool_or(n < {{ few }}) as low_n,
    sum(observed)::integer as measured, sum(unavailable)::integer as unavailable,
    sum(sample - observed - unavailable)::integer as pending, any_value(first_ms) as first_ms, any_value(last_ms) as last_ms,
    max(if(horizon_min = {{ coin_horizon }}, n, null)) as n, max(if(horizon_min = {{ coin_horizon }}, hits, null)) as hits,
    max(if(horizon_min = {{ coin_horizon }}, quartiles[2], null)) as median, {{ figures }} as overall
  from wholes
  group by lookback, base
),

directions as (
  select lookback, base, list({dir: dir, overall: overall} order by dir) as parts
  from (
    select lookback, base, dir, {{ figures }} as overall
    from (
      select lookback, base, dir, horizon_min, {{ aggregates }}
      from judged
      where counted and dir is not null
      group by lookback, base, dir, horizon_min
    )
    group by lookback, base, dir
  )
  group by lookback, base
),

exchanges as (
  select lookback, base, list({venue: venue, hip3: hip3, overall: overall} order by venue, hip3) as parts
  from (
    select lookback, base, venue, hip3, {{ figures }} as overall
    from (
      select lookback, base, venue, hip3, horizon_min, {{ aggregates }}
      from judged
      group by lookback, base, venue, hip3, horizon_min
    )
    group by lookback, base, venue, hip3
  )
  group by lookback, base
)

-- A coin keeps its row when no spike of it lies in the window any more.
select
  asked.lookback, known.base, {{ now_ms }}::bigint as as_of, asked.since_ms, coalesce(sample, 0) as sample,
  coalesce(mixed, false) as mixed, coalesce(low_n, true) as low_n, coalesce(measured, 0) as measured,
  coalesce(pending, 0) as pending, coalesce(unavailable, 0) as unavailable, first_ms, last_ms, coalesce(n, 0) as n,
  coalesce(hits, 0) as hits, hits / nullif(n, 0) as hit_rate, median, coalesce(overall, []) as overall,
  {venues: coalesce(exchanges.parts, []), directions: coalesce(directions.parts, [])} as split,
  (select max(tick_ms) from {{ source("pipeline", "window_ticks") }}) as tick_ms
from asked
cross join (select distinct base from scopes) as known
left join totals using (lookback, base)
left join exchanges using (lookback, base)
left join directions using (lookback, base)
