{{ config(materialized="view_in_place") }}
select ts, venue, symbol, base, side, usd, price, tick_ms
from {{ ref("int_liquidations") }}
-- As in the series.
where aggregated and usd is not null
