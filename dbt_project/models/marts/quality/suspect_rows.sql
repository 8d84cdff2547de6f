{{ config(materialized="view_in_place") }}
{#- A view, because builds do not change it: the checks write the table, and a publish copies it. Its SQL names no
    database, so that it also works in the replica. -#}
select "check", market_id, venue, from_ms, to_ms, value, expected, seen_ms
from {{ source("quality", "suspect_rows").include(database=false) }}
