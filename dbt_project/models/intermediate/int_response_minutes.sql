{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_ticks') }}
with answers as (
    select
        *,
        status between 200 and 299 and error is null and body is not null as answered,
        coalesce(error, 'HTTP ' || status, 'no answer') as reason
    from {{ ref('raw_window') }}
    where endpoint not in {{ stream_kinds() }}
),

requests as (
    select
        tick_ms,
        venue,
        endpoint,
        count(*) as asked,
        count_if(answered)::bigint as answered,
        count_if(status is null)::bigint as unreachable,
        max_by(reason, requested_ms) filter (not coalesce(answered, false)) as error,
        max(received_ms) filter (answered) as last_answer_ms
    from answers
    group by tick_ms, venue, endpoint
)

select
    q.tick_ms,
    q.venue,
    q.endpoint,
    q.asked,
    greatest(q.answered - coalesce(j.broken_bodies, 0), 0) as ok,
    q.asked - greatest(q.answered - coalesce(j.broken_bodies, 0), 0) as failed,
    q.unreachable,
    least(coalesce(j.broken_bodies, 0), q.answered)::bigint as broken,
    coalesce(q.error, case when j.broken_bodies > 0 then 'body ' || j.reason end) as error,
    case when q.answered > coalesce(j.broken_bodies, 0) then q.last_answer_ms end as last_ok_ms
from requests as q
left join {{ ref('int_rejected') }} as j on q.tick_ms = j.tick_ms and q.venue = j.venue and q.endpoint = j.endpoint
