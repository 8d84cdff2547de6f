-- Markets whose price says that they are not of the coin that their name says: a row of the seed `symbols` decides what
-- they are. Until then they are `BASE@venue`.
{{ config(severity='warn') }}
select i.market_id, i.named_base, i.coin, i.reason, i.price_ratio, i.turnover_usd, i.from_ms
from {{ ref('int_identity') }} as i
where i.to_ms is null and i.coin <> i.named_base
