{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes') }}
-- Two recorders may ask the same of a key in other words (for fewer bars, as one has just started): one request, which
-- is good if either is.
with responses as (
    select
        tick_ms, venue, endpoint, status, requested_ms, received_ms, error,
        coalesce(status between 200 and 299 and error is null and body is not null, false) as succeeded,
        coalesce(error, 'HTTP ' || status, 'no response') as reason
    from {{ ref('raw_window') }}
    where endpoint not in {{ stream_kinds() }}
    qualify row_number() over (
        partition by tick_ms, venue, endpoint, key, case when {{ is_backfilled() }} then (params, requested_ms) end
        order by succeeded desc, status is not null desc, requested_ms
    ) = 1
),

counts as (
    select
        tick_ms,
        venue,
        endpoint,
        count(*) as requests,
        count_if(succeeded)::bigint as succeeded,
        count_if(status is null)::bigint as unreachable,
        max_by(reason, requested_ms) filter (not coalesce(succeeded, false)) as error,
        max(received_ms) filter (succeeded) as last_success_ms
    from responses
    group by tick_ms, venue, endpoint
)

select
    q.tick_ms,
    q.venue,
    q.endpoint,
    q.requests,
    greatest(q.succeeded - coalesce(j.broken_bodies, 0), 0) as ok,
    q.requests - greatest(q.succeeded - coalesce(j.broken_bodies, 0), 0) as failed,
    q.unreachable,
    least(coalesce(j.broken_bodies, 0), q.succeeded)::bigint as broken,
    coalesce(q.error, case when j.broken_bodies > 0 then 'body ' || j.reason end) as error,
    case when q.succeeded > coalesce(j.broken_bodies, 0) then q.last_success_ms end as last_ok_ms
from counts as q
left join {{ ref('int_rejected') }} as j on q.tick_ms = j.tick_ms and q.venue = j.venue and q.endpoint = j.endpoint
{{ with_built() }}
