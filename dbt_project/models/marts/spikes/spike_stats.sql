{{ config(incremental_strategy="replace_keys", replace_keys=["lookback", "base"], triggers=["every_1h", "after_history"]) }}
{#- What prices did after volume spikes, by coin and over all coins (base ''), by window and horizon; built once an hour, and
    when a backfill has ended. HIP-3 markets have their own entries in the split by exchange; they count elsewhere only for
    coins without other spikes. The window `all` is expensive: each coin is recomputed once a day, and all coins together in the day's first
    hour. -#}
{%- set windows, horizons, coin_horizon, few = {"7d": 7, "30d": 30, "all": 0}, [5, 15, 60], 60, 30 %}
{%- set now_ms = as_of_ms() %}
{%- set hour = now_ms // 3600000 % 24 %}
{%- set together -%}
  {% if is_update() %}({{ hour }} = 0 or not exists (select 1 from {{ this }} where lookback = 'all' and base = '')){% else %}true{% endif %}
{%- endset %}
{#- Referenced on every path, because dbt reads dependencies while parsing, when nothing runs. -#}
{%- set scope = source("pipeline", "settings") ~ ref("recording_runs") %}
{%- set aggregates -%}
  count(*) filter (state = 'observed') as observed, count(*) filter (state = 'unavailable') as unavailable,
    count(turned)::integer as n, count(*) filter (turned > 0)::integer as hits,
    count(*) filter (turned is not null and dir = 'buy') as buys, count(*) filter (turned is not null and moved > 0) as ups,
    count(*) filter (turned is not null and moved < 0) as downs, quantile_cont(turned, [0.25, 0.5, 0.75]) as quartiles,
    avg(turned) as mean, min(if(turned is null, null, ts)) as from_ms, max(if(turned is null, null, ts)) as to_ms,
    count(distinct if(turned is null, null, ts // (horizon_min * 60000)))::integer as n_independent
{%- endset %}
{%- set counts -%}
  count(*)::integer as sample, bool_or(dir = 'buy') and bool_or(dir = 'sell') as mixed, min(ts) as first_ms, max(ts) as last_ms
{%- endset %}
{%- set figures -%}
  list({
      horizon_min: g.horizon_min, n: coalesce(n, 0), hits: coalesce(hits, 0), hit_rate: hits / nullif(n, 0),
      base_rate: (buys * ups + (n - buys) * downs) / nullif(n, 0) / n,
      q1: quartiles[1], median: quartiles[2], q3: quartiles[3], mean: mean, first_ms: from_ms, last_ms: to_ms,
      n_independent: coalesce(n_independent, 0), low_n: coalesce(n, 0) < {{ few }}
    } order by g.horizon_min)
{%- endset %}
with coins as materialized (
  select coalesce(base, symbol) as coin, bool_and(coalesce(hip3, false)) as hip3_alone
  from {{ ref("spikes") }}
  group by coin
),

alerts as materialized (
  select id, ts, coin, venue, coalesce(hip3, false) as hip3, dir, hip3_alone or not coalesce(hip3, false) as counted
  from {{ ref("spikes") }} as s
  join coins on coalesce(s.base, s.symbol) = coins.coin
),

-- Coins that are due in this hour, and those without a row.
due as materialized (
  select coin
  from coins
  {% if is_update() %}
  where hash(coin) % 24 = {{ hour }} or coin not in (select base from {{ this }} where lookback = 'all')
  {% endif %}
),

lookbacks as (
  select lookback, if(days = 0, (select coalesce(min(ts), {{ now_ms }}) from alerts), {{ now_ms }} - days * 86400000) as since_ms
  from {{ named_windows(windows) }}
),

spiked as materialized (
  select
    lookbacks.lookback, s.*, lookbacks.lookback <> 'all' or s.coin in (select due.coin from due) as is_due,
    lookbacks.lookback <> 'all' or {{ together }} as together_due
  from alerts as s
  join lookbacks on s.ts >= lookbacks.since_ms
  where is_due or together_due
),

judged as materialized (
  select s.* exclude (id), o.horizon_min, o.state, o.return as moved, o.directional_return as turned
  from spiked as s
  join {{ ref("spike_outcomes") }} as o on s.id = o.id
),

-- Totals and directions from the markets that count, exchanges from all markets; per coin, and for all coins together.
{%- for name, relation, of, figured in [("groups", "spiked", "", counts), ("parts", "judged", ", horizon_min", aggregates)] %}
{{ name }} as (
  select lookback, coin as base, grouping(dir) = 1 as is_whole, dir, null as venue, null as hip3{{ of }}, {{ figured }}
  from {{ relation }}
  where is_due and counted
  group by grouping sets ((lookback, coin{{ of }}), (lookback, coin, dir{{ of }}))
  union all
  select lookback, '', grouping(dir) = 1, dir, null, null{{ of }}, {{ figured }}
  from {{ relation }}
  where together_due and not hip3
  group by grouping sets ((lookback{{ of }}), (lookback, dir{{ of }}))
  union all
  select lookback, coin, false, null, venue, hip3{{ of }}, {{ figured }}
  from {{ relation }}
  where is_due
  group by lookback, coin, venue, hip3{{ of }}
  union all
  select lookback, '', false, null, venue, hip3{{ of }}, {{ figured }}
  from {{ relation }}
  where together_due
  group by lookback, venue, hip3{{ of }}
),
{% endfor %}
-- Every group with every horizon, even without outcomes: an outcome without a row is pending.
merged as materialized (
  select
    g.lookback, g.base, g.is_whole, g.dir, g.venue, g.hip3, any_value(sample) as sample, any_value(mixed) as mixed,
    bool_or(coalesce(n, 0) < {{ few }}) as low_n, coalesce(sum(observed), 0)::integer as measured,
    coalesce(sum(unavailable), 0)::integer as unavailable,
    sum(sample - coalesce(observed, 0) - coalesce(unavailable, 0))::integer as pending, any_value(first_ms) as first_ms,
    any_value(last_ms) as last_ms, max(if(g.horizon_min = {{ coin_horizon }}, n, null)) as n,
    max(if(g.horizon_min = {{ coin_horizon }}, hits, null)) as hits,
    max(if(g.horizon_min = {{ coin_horizon }}, quartiles[2], null)) as median, {{ figures }} as overall
  from (select *, unnest({{ horizons }})::integer as horizon_min from groups) as g
  left join parts as p
    on g.lookback = p.lookback and g.base = p.base and g.is_whole = p.is_whole and g.horizon_min = p.horizon_min
    and g.dir is not distinct from p.dir and g.venue is not distinct from p.venue and g.hip3 is not distinct from p.hip3
  group by g.lookback, g.base, g.is_whole, g.dir, g.venue, g.hip3
),

splits as (
  select
    lookback, base,
    list({venue: venue, hip3: hip3, overall: overall} order by venue, hip3) filter (venue is not null) as venues,
    list({dir: dir, overall: overall} order by dir) filter (dir is not null) as directions
  from merged
  where not is_whole
  group by lookback, base
),

-- A coin keeps its row (with zero counts) when its last spike has left the window.
known as (
  select lookback, since_ms, coin as base
  from lookbacks
  cross join coins
  where lookback <> 'all' or coin in (select due.coin from due)
  union all
  select lookback, since_ms, '' from lookbacks where exists (select 1 from alerts) and (lookback <> 'all' or {{ together }})
)

select
  known.lookback, known.base, {{ now_ms }}::bigint as as_of, known.since_ms, coalesce(sample, 0) as sample,
  coalesce(mixed, false) as mixed, coalesce(low_n, true) as low_n, coalesce(measured, 0) as measured,
  coalesce(pending, 0) as pending, coalesce(unavailable, 0) as unavailable, first_ms, last_ms, coalesce(n, 0) as n,
  coalesce(hits, 0) as hits, hits / nullif(n, 0) as hit_rate, median, coalesce(overall, []) as overall,
  {venues: coalesce(venues, []), directions: coalesce(directions, [])} as split,
  {{ written_minute() }} as tick_ms
from known
left join (select * from merged where is_whole) as whole on known.lookback = whole.lookback and known.base = whole.base
left join splits on known.lookback = splits.lookback and known.base = splits.base
