-- A coin's open interest, volume and liquidations equal the sums over its aggregated markets, in each of the last three
-- hours' minutes.
{{ config(meta={'dagster': {'ref': {'name': 'series_base_1m'}}}) }}
with coins as (
  select t, base, oi_usd, volume_usd, liq_long_usd, liq_short_usd, n_markets
  from {{ ref("series_base_1m") }}
  where type = 'all' and t >= {{ newest_minute() }} - 10800000
),

markets as (
  select
    t, base, sum(oi_usd) as oi_usd, sum(volume_usd) as volume_usd, sum(liq_long_usd) as liq_long_usd,
    sum(liq_short_usd) as liq_short_usd, count(*) as n_markets
  from {{ ref("series_market_1m") }}
  where aggregated and t >= {{ newest_minute() }} - 10800000
  group by t, base
)

select *
from coins full join markets using (t, base)
where coins.n_markets is distinct from markets.n_markets
  {%- for column in ["oi_usd", "volume_usd", "liq_long_usd", "liq_short_usd"] %}
  or not {{ same_number("coins." ~ column, "markets." ~ column) }}
  {%- endfor %}
