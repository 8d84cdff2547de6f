-- What was recorded and could not be used, counted where it happened. A body is broken if it cannot be read or if a
-- required field is missing in most of its rows; otherwise the rows without one are dropped singly.
{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_ticks') }}
with bodies as (
    {%- for venue, kinds in staged() %}{% set outer = loop %}
    {%- for kind in kinds %}
    select
        tick_ms, '{{ venue }}' as venue, '{{ kind }}' as endpoint, key, requested_ms,
        count(*) as rows_read, count(reject) as rejected, bool_or(reject = 'unreadable') as unreadable
    from {{ ref('stg_' ~ venue ~ '__' ~ kind) }}
    group by tick_ms, key, requested_ms
    {{ "union all" if not (loop.last and outer.last) }}
    {%- endfor %}
    {%- endfor %}
),

judged as (
    select *, coalesce(unreadable, false) or rejected * 2 > rows_read as broken
    from bodies
)

select
    tick_ms,
    venue,
    endpoint,
    count_if(broken)::bigint as broken_bodies,
    coalesce(sum(rejected) filter (not broken), 0)::bigint as dropped_rows,
    coalesce(sum(rows_read) filter (not coalesce(unreadable, false)), 0)::bigint as rows_read,
    case when bool_or(unreadable) then 'unreadable' when bool_or(broken) then 'changed' else 'incomplete' end as reason
from judged
group by tick_ms, venue, endpoint
having sum(rejected) > 0
