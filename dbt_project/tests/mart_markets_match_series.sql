-- A coin's open interest in the live table equals the sum over its listed markets in the newest minute of the series,
-- if none of their values is carried over from an earlier minute. Coins with HIP-3 markets only have no series.
{{ config(meta={'dagster': {'ref': {'name': 'markets'}}}) }}
with newest as (
  select {{ newest_minute() }} as t
),

listed as (
  select base, entry.venue as venue, entry.symbol as symbol
  from (select base, unnest(perps) as entry from {{ ref("markets") }} where not hip3)
),

series as (
  select
    base, sum(oi_usd) filter (t = (select t from newest)) as oi_usd,
    bool_or(oi_usd is not null and t < (select t from newest) and last_ms < (select t from newest)) as carried
  from (
    select *, max(if(oi_usd is not null, t, null)) over (partition by market_id) as last_ms
    from {{ ref("series_market_1m") }}
    where aggregated and type = 'perp' and t between (select t from newest) - 300000 and (select t from newest)
  )
  semi join listed using (base, venue, symbol)
  group by base
)

select markets.base, markets.oi_usd, series.oi_usd as series_oi_usd
from {{ ref("markets") }} as markets
join series on markets.base = series.base
where not carried and not {{ same_number("markets.oi_usd", "series.oi_usd") }}
