{{ config(materialized="view_in_place") }}
{{ rows_as_known(ref("series_market_1m").include(database=false), bars_later=true) }}
