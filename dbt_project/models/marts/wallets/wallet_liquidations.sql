{{ config(materialized="view_in_place") }}
select venue, symbol, base as coin, t, tid, wallet, role, side, usd, price, tick_ms
from {{ ref("int_wallet_liquidations") }}
-- HIP-3 markets stay out of totals.
where aggregated and usd is not null
