{{ config(materialized="view_in_place") }}
{#- A view, because the pipeline writes the table, and a publish copies it. Its SQL names no database, so that it also
    works in the replica. -#}
select quarantine_id, state, tick_ms, venue, endpoint, key, requested_ms, load_id, bytes, models, error, alone, set_aside_ms
from {{ source("pipeline", "quarantine").include(database=false) }}
