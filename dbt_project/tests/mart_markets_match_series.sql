-- A coin's open interest in the live table is the newest bucket of its series, where no market of it is carried over from
-- an earlier minute. Coins that HIP-3 alone trades have no series.
with newest as (
  select {{ newest_minute() }} as t
),

bucket as (
  select base, oi_usd
  from {{ ref("series_base_1m") }}
  where t = (select t from newest) and type = 'all' and venue = 'all'
),

carried as (
  select base
  from {{ ref("series_market_1m") }}
  where t between (select t from newest) - 300000 and (select t from newest) and oi_usd is not null
  group by base, market_id
  having max(t) < (select t from newest)
)

select markets.base, markets.oi_usd, bucket.oi_usd as series_oi_usd
from {{ ref("markets") }} as markets
join bucket on markets.base = bucket.base
anti join carried on markets.base = carried.base
anti join {{ ref("instruments") }} as leaving on markets.base = leaving.base and leaving.delisted_ms <= (select t from newest)
where not {{ same_number("markets.oi_usd", "bucket.oi_usd") }}
