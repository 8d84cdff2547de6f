{{ config(materialized="view_in_place") }}
{#- A view, because the pipeline writes the table, and a publish copies it. Its SQL names no database, so that it also
    works in the replica. -#}
select day_ms, begin_ms, next_ms, end_ms, models, from_version, started_ms, finished_ms, error
from {{ source("pipeline", "upgrade_days").include(database=false) }}
