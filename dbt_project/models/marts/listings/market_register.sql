{{ config(
  incremental_strategy="replace_keys", replace_keys=["market_id"],
  triggers=["every_1h"] + endpoints_of(families()["staged_instruments"].kinds)
) }}
{#- Every market with its history; a row is written when it changes, so that a publish copies what is new. Lists are sorted
    when they are whole, by their first field, the time: `list(… order by …)` sorts each market's few rows in a sort of
    its own, which took a quarter of a second of the minute. -#}
with identities as (
  select
    market_id,
    list_sort(list({from_ms: from_ms, to_ms: to_ms, base: coin, reason: reason, price_ratio: price_ratio})) as identity
  from {{ ref("int_identity") }}
  group by market_id
),

contracts as (
  select
    market_id,
    list_sort(list({
      since_ms: since_ms, contract_size: contract_size, multiplier: multiplier, inverse: inverse, quote: quote, settle: settle
    })) as contracts
  from {{ ref("int_contracts") }}
  group by market_id
),

-- Of several sources of one time the first counts: minutes, the venue's list, the distance of settlements.
intervals as (
  select market_id, list_sort(list({since_ms: since_ms, interval_h: interval_h})) as funding_intervals
  from (
    select market_id, since_ms, interval_h
    from (
      select market_id, since_ms, arg_min(interval_h, source not in ('minutes')) as interval_h
      from {{ ref("int_funding_intervals") }}
      where source <> 'settlements' or market_id not in (
        select f.market_id from {{ ref("int_funding_intervals") }} as f where f.source <> 'settlements'
      )
      group by market_id, since_ms
    )
    qualify interval_h is distinct from lag(interval_h) over (partition by market_id order by since_ms)
  )
  group by market_id
),

register as (
  select
    i.market_id, i.venue, i.type, i.symbol, i.base, i.base_raw, i.named_base, i.quote, i.settle, i.status, i.listed_ms, i.delisted_ms,
    i.aggregated, i.left_out, i.hip3, i.category, i.contract_type, i.contract_size, i.multiplier, i.inverse, i.metadata,
    coalesce(identities.identity, []) as identity, coalesce(contracts.contracts, []) as contracts,
    coalesce(intervals.funding_intervals, []) as funding_intervals,
    replace(replace(replace(
      if(i.type = 'spot', v.spot_url, if(coalesce(v.perp_url_quote, i.quote) = i.quote, v.perp_url, null)),
      '{symbol}', i.symbol), '{base_raw}', i.base_raw), '{quote}', i.quote) as url
  from {{ ref("instruments") }} as i
  left join identities on i.market_id = identities.market_id
  left join contracts on i.market_id = contracts.market_id
  left join intervals on i.market_id = intervals.market_id
  left join {{ ref("venues") }} as v on i.venue = v.venue
)

select new.*, (select max(tick_ms) from {{ source("pipeline", "window_minutes") }}) as tick_ms
from register as new
{% if is_update() %}
left join (select * exclude (tick_ms) from {{ this }}) as old on new.market_id = old.market_id
where new is distinct from old
{% endif %}
