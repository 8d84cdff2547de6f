{{ config(materialized="view_in_place") }}
-- Finer steps have no hours of history.
{{ rows_as_known(ref("series_market_1h").include(database=false), also="{version}source = 'backfilled' and " ~ step_ms("asked") ~ " >= 3600000") }}
