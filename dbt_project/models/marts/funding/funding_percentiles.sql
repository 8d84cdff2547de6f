{{ config(incremental_strategy="replace_all", triggers=["recorded", "after_history"]) }}
{#- The percentile of the live funding rate among the market's own rates, for the perps with the highest open interest.
    The mid-rank, because many markets have exactly the base rate, whose percentile would be 0 or 100 otherwise. -#}
{%- set most, enough = 50, 0.5 %}
with perps as (
  {{ perps_by_oi() }}
  qualify rank <= {{ most }} or venue_rank <= {{ most }}
),

compared as (
  select
    perps.*, windows.lookback, (windows.days * 24)::integer as expected_count,
    coalesce(known.reference_count, 0) as reference_count, coalesce(known.coverage_fraction, 0) as coverage_fraction,
    known.median_funding, known.p10_funding, known.p90_funding,
    case
      when perps.funding is null then 'NoLiveFunding'
      when coalesce(known.coverage_fraction, 0) < {{ enough }} then 'InsufficientHistory'
      else 'Ranked'
    end as row_state,
    len(list_filter(known.rates, lambda x: x < perps.funding and not {{ same_rate("x", "perps.funding") }})) as below,
    len(list_filter(known.rates, lambda x: {{ same_rate("x", "perps.funding") }})) as equal
  from perps
  cross join {{ named_windows(funding_windows()) }} as windows
  left join {{ ref("funding_reference") }} as known on perps.market_id = known.market_id and windows.lookback = known.lookback
)

select
  lookback, rank, venue_rank, market_id, base, venue, symbol, oi_usd, funding as live_funding, funding as comparison_funding,
  funding_ms as comparison_time_ms,
  if(row_state = 'Ranked', 100 * (below + equal / 2) / reference_count, null) as percentile,
  reference_count, expected_count, coverage_fraction, median_funding, p10_funding, p90_funding, row_state
from compared
