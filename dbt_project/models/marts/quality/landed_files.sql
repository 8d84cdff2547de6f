{{ config(materialized="view_in_place") }}
{#- A view, because the pipeline writes the table, and a publish copies it. Its SQL names no database, so that it also
    works in the replica. -#}
select
    max(load_id) as load_id,
    regexp_extract(file, '[^/]+/[^/]+$') as file,
    min(min_tick_ms) as first_ms,
    max(max_tick_ms) as last_ms
from {{ source("pipeline", "loads").include(database=false) }}
where file is not null
group by file
