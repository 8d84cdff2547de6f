{{ config(materialized="view_in_place") }}
select unnest(generate_series(
    (select make_timestamp(min(t) * 1000) from {{ ref('series_base_1d') }}), now()::timestamp, interval 1 minute
)) as minute
