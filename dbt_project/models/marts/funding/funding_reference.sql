{{ config(incremental_strategy="replace_all", triggers=["every_1h", "after_history"]) }}
{#- The reference of a live funding rate: the market's own rates of the completed hours, recomputed once an hour. For
    twice as many perps as are ranked, so that a perp that enters the ranking within the hour has its reference. -#}
{%- set most, hour_ms = 100, 3600000 %}
{%- set until_ms = newest_minute_ms() // hour_ms * hour_ms %}
with perps as (
  {{ perps_by_oi() }}
  qualify rank <= {{ most }} or venue_rank <= {{ most }}
),

hours as (
  select market_id, t, funding_8h
  from {{ ref("series_market_1h") }}
  where
    t >= {{ until_ms - funding_windows().values() | max * 24 * hour_ms }} and t < {{ until_ms }}
    and funding_8h is not null and market_id in (select market_id from perps)
)

select
  market_id, lookback, {{ until_ms }}::bigint as until_ms, any_value(days * 24)::integer as expected_count,
  count(*)::integer as reference_count, count(*) / any_value(days * 24) as coverage_fraction,
  {{ rate_quantile("funding_8h", 0.5) }} as median_funding, {{ rate_quantile("funding_8h", 0.1) }} as p10_funding,
  {{ rate_quantile("funding_8h", 0.9) }} as p90_funding, list(funding_8h order by funding_8h) as rates
from hours
cross join {{ named_windows(funding_windows()) }} as windows
where t >= {{ until_ms }} - days * {{ 24 * hour_ms }}
group by market_id, lookback
