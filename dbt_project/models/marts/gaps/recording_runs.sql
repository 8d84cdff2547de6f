{{ config(incremental_strategy="replace_runs", triggers=["recorded"]) }}
{#- Minutes with the same outcome, merged into runs. A build decides only the minutes that it touches: it cuts them out
    of the stored runs, decides them again and merges adjacent ones, so the cost of a minute does not grow with the
    history. -#}
{%- set scope = source("pipeline", "window_minutes") ~ ref("int_touched_minutes") %}
{#- With literal bounds DuckDB skips older row groups. -#}
{%- set bounds = run_query("select min(minute_ms), max(minute_ms) from (" ~ decided_minutes() ~ ")").rows[0] if execute and is_update() else [0, 0] %}
with {% if is_update() %}decided_ones as materialized (
  {{ decided_minutes() }}
),
{% endif %}
outcomes as materialized (
  {{ endpoint_outcomes(
    "tick_ms between " ~ ((bounds[0] or 0) - longest_cadence_ms() | int) ~ " and " ~ ((bounds[1] or 0) + 60000)
    if is_update() else "true") }}
),

bar_minutes as (
  select distinct minute_ms, venue, type || '_bars' as endpoint
  from {{ ref("int_market_bars") }}
  where source is distinct from 'backfilled'
  {% if is_update() %}and minute_ms in (select minute_ms from decided_ones){% endif %}
),

recorded as (
  select distinct tick_ms as minute_ms from outcomes
  {% if is_update() %}where tick_ms in (select minute_ms from decided_ones){% endif %}
),

standing as (
  select venue, endpoint, outcome, tick_ms as minute_ms, tick_ms + {{ cadence_ms() }} as stands_until_ms
  from outcomes
  where endpoint in {{ standing_endpoints() }}
),

minutes as (
  select minute_ms as start_ms, '' as venue, '' as endpoint, 'ok' as outcome from recorded
  union all
  select tick_ms, venue, endpoint, outcome from outcomes
  where endpoint not in {{ bar_endpoints() }} and endpoint not in {{ standing_endpoints() }}
    and (endpoint in {{ sampled_endpoints() }} or outcome <> 'ok')
  union all
  -- A kind that is requested less often keeps its outcome, good or bad, until it is requested again or is overdue.
  select minute_ms, venue, endpoint, outcome
  from (select * from recorded cross join (select distinct venue, endpoint from standing))
  asof join standing using (venue, endpoint, minute_ms)
  where minute_ms < stands_until_ms
  union all
  select minute_ms, venue, endpoint, 'ok' from bar_minutes
  union all
  -- The bar of a minute is requested in the next one. A minute without any bar in the responses is incomplete.
  select tick_ms - 60000, venue, endpoint, if(outcome = 'ok', 'partial', outcome) from outcomes
  anti join bar_minutes
    on outcomes.tick_ms - 60000 = bar_minutes.minute_ms
    and outcomes.venue = bar_minutes.venue and outcomes.endpoint = bar_minutes.endpoint
  where endpoint in {{ bar_endpoints() }}
),

fresh as (
  select venue, endpoint, outcome, start_ms, start_ms + 60000 as end_ms from minutes
  {% if is_update() %}where start_ms in (select minute_ms from decided_ones){% endif %}
),
{% if is_update() %}
decided as (
  {{ decided_intervals() }}
),

stored as (
  select * from {{ this }} where start_ms in ({{ runs_to_replace() }})
),

-- The remaining parts of a stored run: one from its own start, and one from the end of every decided interval inside
-- it.
remaining_starts as (
  select venue, endpoint, outcome, start_ms, end_ms from stored
  where not exists (select 1 from decided where decided.start_ms <= stored.start_ms and stored.start_ms < decided.end_ms)
  union all
  select venue, endpoint, outcome, decided.end_ms, stored.end_ms
  from stored join decided on stored.start_ms < decided.end_ms and decided.end_ms < stored.end_ms
),

remaining as (
  select
    venue, endpoint, outcome, start_ms,
    coalesce(
      (select min(decided.start_ms) from decided
       where decided.start_ms >= remaining_starts.start_ms and decided.start_ms < remaining_starts.end_ms), end_ms) as end_ms
  from remaining_starts
),
{% endif %}
parts as (
  select venue, endpoint, outcome, start_ms, end_ms from fresh
  {% if is_update() %}union all select venue, endpoint, outcome, start_ms, end_ms from remaining{% endif %}
)

{{ merge_intervals("parts", "venue, endpoint, outcome") }}
