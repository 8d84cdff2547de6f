{{ config(incremental_strategy="replace_all", triggers=["every_1h"]) }}
{#- The minutes of each day by outcome, of what is recorded of each venue. -#}
{%- set day_ms = 86400000 %}
with runs as (
  select venue, endpoint, outcome, start_ms, end_ms from {{ ref("recording_runs") }} where venue <> ''
),

recorder as (
  select min(start_ms) as start_ms, max(end_ms) as end_ms from {{ ref("recording_runs") }} where venue = ''
),

-- The first minute's request for bars brings those from before the recording began: not a part of it.
begun as (
  select venue, endpoint, greatest(min(runs.start_ms), any_value(recorder.start_ms)) as start_ms, any_value(recorder.end_ms) as end_ms
  from runs cross join recorder
  group by venue, endpoint
),

days as (
  select
    venue, endpoint, t, greatest(start_ms, t) as start_ms, least(end_ms, t + {{ day_ms }}) as end_ms
  from (select *, unnest(range({{ bucket("start_ms", "1d") }}, end_ms, {{ day_ms }})) as t from begun)
),

counted as (
  select
    days.venue, days.endpoint, days.t, any_value(days.end_ms - days.start_ms) as length_ms,
    {%- for outcome in ["ok", "partial", "venue_error", "venue_unreachable"] %}
    coalesce(
      sum(least(days.end_ms, runs.end_ms) - greatest(days.start_ms, runs.start_ms)) filter (runs.outcome = '{{ outcome }}'), 0
    ) as {{ outcome }}_ms{{ "," if not loop.last }}
    {%- endfor %}
  from days
  left join runs
    on days.venue = runs.venue and days.endpoint = runs.endpoint and runs.start_ms < days.end_ms and runs.end_ms > days.start_ms
  group by days.venue, days.endpoint, days.t
)

select
  t,
  venue,
  endpoint,
  (length_ms // 60000)::integer as minutes,
  (ok_ms // 60000)::integer as recorded,
  (partial_ms // 60000)::integer as partial,
  (venue_error_ms // 60000)::integer as venue_error,
  (venue_unreachable_ms // 60000)::integer as venue_unreachable,
  ((length_ms - ok_ms - partial_ms - venue_error_ms - venue_unreachable_ms) // 60000)::integer as not_recorded
from counted
