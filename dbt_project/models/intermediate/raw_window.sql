-- Files are named literally, so that what a build reads does not depend on what else is in the landing.
{{ config(incremental_strategy='replace_all', tags=['window'], pre_hook='{{ tuned_for_window() }}') }}
-- depends_on: {{ source('landing', 'responses') }}
-- depends_on: {{ source('pipeline', 'window_files') }}
-- depends_on: {{ source('pipeline', 'window_built') }}
-- A body in quarantine is read as a response without a body: it counts as unreadable, and leaves a gap.
{%- set files = [] -%}
{%- if execute and load_relation(source('pipeline', 'window_files')) -%}
    {%- set files = run_query('select distinct file from ' ~ source('pipeline', 'window_files') ~ ' order by 1').columns[0].values() -%}
{%- endif %}
{% if files %}
with recorded as (
    select
        tick_ms::bigint as tick_ms,
        venue::varchar as venue,
        endpoint::varchar as endpoint,
        coalesce(key, '')::varchar as key,
        coalesce(params, '')::varchar as params,
        status::integer as status,
        requested_ms::bigint as requested_ms,
        received_ms::bigint as received_ms,
        attempts::integer as attempts,
        error::varchar as error,
        body::varchar as body
    from read_parquet([{% for file in files %}'{{ file | replace("'", "''") }}'{{ ", " if not loop.last }}{% endfor %}], union_by_name = true)
    where tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w) and not ({{ is_built() }})
    -- Of a request that was recorded twice in its minute, by two recorders or by one that started again, the better
    -- answer counts, and of two good ones the earlier. Periods of listening and backfilled responses count each.
    qualify row_number() over (
        partition by
            tick_ms, venue, endpoint, key, params,
            case when endpoint in {{ stream_kinds() }} or {{ is_backfilled() }} then requested_ms end
        order by
            coalesce(status between 200 and 299 and error is null and body is not null, false) desc,
            status is not null desc, requested_ms, received_ms desc nulls last
    ) = 1
)

select
    r.tick_ms, r.venue, r.endpoint, r.key, r.params, r.status, r.requested_ms, r.received_ms, r.attempts,
    coalesce('in quarantine: ' || q.error, r.error) as error,
    case when q.tick_ms is null then r.body end as body
from recorded as r
left join {{ source('pipeline', 'quarantine') }} as q
    on
        q.state <> 'retrying'
        and r.tick_ms = q.tick_ms and r.venue = q.venue and r.endpoint = q.endpoint and r.key = q.key
        and r.params = q.params and r.requested_ms is not distinct from q.requested_ms
{% else %}
select
    null::bigint as tick_ms,
    null::varchar as venue,
    null::varchar as endpoint,
    null::varchar as key,
    null::varchar as params,
    null::integer as status,
    null::bigint as requested_ms,
    null::bigint as received_ms,
    null::integer as attempts,
    null::varchar as error,
    null::varchar as body
where false
{% endif %}
