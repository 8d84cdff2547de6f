{{ config(incremental_strategy="replace_all") }}
{#- Unrecorded time as intervals: failed runs, and the gaps between recorded ones. -#}
with runs as (
  select * from {{ ref("recording_runs") }}
),

recorded as (
  select start_ms, end_ms, lead(start_ms) over (order by start_ms) as next_ms from runs where venue = ''
),

-- An endpoint that was not requested although the recorder wrote something: the recorder stopped within the minute.
skipped as (
  select
    venue, endpoint, greatest(recorded.start_ms, holes.start_ms) as start_ms, least(recorded.end_ms, holes.end_ms) as end_ms
  from (
    select
      venue, endpoint, end_ms as start_ms, lead(start_ms) over (partition by venue, endpoint order by start_ms) as end_ms
    from runs
    where endpoint in {{ sampled_endpoints() }} or endpoint in {{ bar_endpoints() }} or endpoint in {{ standing_endpoints() }}
  ) as holes
  join recorded on recorded.start_ms < holes.end_ms and recorded.end_ms > holes.start_ms
  where holes.start_ms < holes.end_ms
),

parts as (
  select end_ms as start_ms, next_ms as end_ms, null as venue, null as endpoint, 'recorder_down' as reason
  from recorded where next_ms is not null
  union all
  select start_ms, end_ms, venue, endpoint, 'partial' from skipped
  union all
  -- The first minute's request for bars also concerns the minute before recording began: not a gap of the recording.
  select start_ms, end_ms, venue, endpoint, outcome from runs
  where outcome <> 'ok' and start_ms >= (select min(start_ms) from recorded)
)

{{ merge_intervals("parts", "venue, endpoint, reason") }}
