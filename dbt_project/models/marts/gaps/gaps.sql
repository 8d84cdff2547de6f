{{ config(incremental_strategy="replace_all", triggers=["recorded"]) }}
{#- Unrecorded time as intervals: failed runs, the gaps between recorded ones, and the time in which a venue reported too few
    markets. -#}
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

unrecorded as (
  select end_ms as start_ms, next_ms as end_ms, null as venue, null as endpoint, 'recorder_down' as reason
  from recorded where next_ms is not null
  union all
  select start_ms, end_ms, venue, endpoint, 'partial' from skipped
  union all
  -- The first minute's request for bars also concerns the minute before recording began: not a gap of the recording.
  select start_ms, end_ms, venue, endpoint, outcome from runs
  where outcome <> 'ok' and start_ms >= (select min(start_ms) from recorded)
),

-- Minute by minute, because losses are rare: what already is a gap has its reason, and losses overlap each other.
lossy as (
  select distinct venue, endpoint, unnest(range(start_ms, coalesce(end_ms, {{ newest_minute() }} + 60000), 60000)) as start_ms
  from {{ ref("market_losses") }}
),

parts as (
  select * from unrecorded
  union all
  select lossy.start_ms, lossy.start_ms + 60000, lossy.venue, lossy.endpoint, 'partial'
  from lossy
  where not exists (
    select 1 from unrecorded as gap
    where (gap.venue is null or (gap.venue = lossy.venue and gap.endpoint = lossy.endpoint))
      and gap.start_ms <= lossy.start_ms and gap.end_ms > lossy.start_ms
  )
)

{{ merge_intervals("parts", "venue, endpoint, reason") }}
