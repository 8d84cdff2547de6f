-- A span lies inside its minute. Spans of one recorder's connection touch and do not overlap, those of two do: time
-- in which both listened counts once.
{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes', triggers=['recorded']) }}
with spans as (
    select
        * exclude (key), {{ connection_of('key') }} as key,
        greatest(requested_ms, tick_ms) as begin_ms, least(received_ms, tick_ms + 60000) as end_ms
    from {{ ref('raw_window') }}
    where endpoint in {{ stream_kinds() }}
),

apart as (
    select
        *,
        greatest(begin_ms, coalesce(max(end_ms) filter (status = 101) over (
            partition by tick_ms, venue, endpoint, key
            order by begin_ms, end_ms rows between unbounded preceding and 1 preceding
        ), 0)) as uncovered_ms
    from spans
)

select
    tick_ms,
    venue,
    endpoint,
    key,
    coalesce(sum(greatest(end_ms - uncovered_ms, 0)) filter (status = 101), 0)::bigint as connected_ms,
    count_if(status = 101)::bigint as spans,
    count_if(status is distinct from 101)::bigint as failed_connects,
    sum(try(json_array_length(body))) filter (status = 101)::bigint as messages,
    max_by(error, requested_ms) as error,
    max(received_ms) filter (status = 101) as last_ok_ms
from apart
group by tick_ms, venue, endpoint, key
