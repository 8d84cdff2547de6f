-- A body is broken if it cannot be read or if a required field is missing in most of its rows; otherwise only the
-- rows without the field are dropped.
{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_minutes') }}
{%- set window = window_endpoints() %}
{%- set read = families().values() | map(attribute="kinds") | sum(start=[]) %}
{%- set counts %}
        tick_ms, endpoint, key, requested_ms,
        count(*) as rows_read, count(reject) as rejected, bool_or(reject = 'unreadable') as unreadable, sum(outside) as outside
{%- endset %}
with views as (
    {%- for family, own in families().items() %}
    {%- set rows = ref(family) %}
    {%- if not own.rare or not execute or window_holds(endpoints_of(own.kinds), window) %}
    {{ "union all" if not loop.first }}
    select venue, kind, {{ counts }}
    from {{ rows }}
    group by venue, kind, tick_ms, endpoint, key, requested_ms
    {%- endif %}
    {%- endfor %}
    {%- for venue, kind, view in staged_views(except=read) %}
    union all
    select '{{ venue }}' as venue, '{{ kind }}' as kind, {{ counts }}
    from {{ view }}
    group by tick_ms, endpoint, key, requested_ms
    {%- endfor %}
),

judged as (
    select *, coalesce(unreadable, false) or rejected * 2 > rows_read as broken
    from views
),

-- Several views may read different parts of one body: it is broken if it is for one of them.
bodies as (
    select
        tick_ms, venue, endpoint, bool_or(broken) as broken, bool_or(unreadable) as unreadable,
        sum(rejected) as rejected, sum(rows_read) as rows_read, sum(outside) as outside
    from judged
    group by tick_ms, venue, endpoint, key, requested_ms
)

select
    tick_ms,
    venue,
    endpoint,
    count_if(broken)::bigint as broken_bodies,
    coalesce(sum(rejected) filter (not broken), 0)::bigint as dropped_rows,
    coalesce(sum(outside), 0)::bigint as outside_values,
    coalesce(sum(rows_read) filter (not coalesce(unreadable, false)), 0)::bigint as rows_read,
    case when bool_or(unreadable) then 'unreadable' when bool_or(broken) then 'changed' when sum(outside) > 0 then 'implausible' else 'incomplete' end as reason
from bodies
group by tick_ms, venue, endpoint
having sum(rejected) > 0 or sum(outside) > 0
{{ with_built() }}
