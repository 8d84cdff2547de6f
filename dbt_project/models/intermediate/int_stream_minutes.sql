-- A span lies inside its minute; spans of one connection touch and do not overlap.
{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes') }}
select
    tick_ms,
    venue,
    endpoint,
    key,
    least(coalesce(sum(
        greatest(least(received_ms, tick_ms + 60000) - greatest(requested_ms, tick_ms), 0)
    ) filter (status = 101), 0), 60000)::bigint as connected_ms,
    count_if(status = 101)::bigint as spans,
    count_if(status is distinct from 101)::bigint as failed_connects,
    sum(try(json_array_length(body))) filter (status = 101)::bigint as messages,
    max_by(error, requested_ms) as error,
    max(received_ms) filter (status = 101) as last_ok_ms
from {{ ref('raw_window') }}
where endpoint in {{ stream_kinds() }}
group by tick_ms, venue, endpoint, key
