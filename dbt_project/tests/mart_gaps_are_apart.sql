-- Gaps are whole minutes, and gaps of one venue and endpoint do not overlap; those that touch differ in reason.
select *
from (
  select
    *,
    lead(start_ms) over (partition by venue, endpoint order by start_ms) as next_start_ms,
    lead(reason) over (partition by venue, endpoint order by start_ms) as next_reason
  from {{ ref("gaps") }}
)
where start_ms % 60000 <> 0 or end_ms % 60000 <> 0 or start_ms >= end_ms
  or next_start_ms < end_ms or (next_start_ms = end_ms and next_reason = reason)
