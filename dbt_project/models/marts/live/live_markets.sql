{{ config(incremental_strategy="replace_all", triggers=["recorded", "after_history"]) }}
{#- Every market as of the newest minute, with its values 1, 2, 4 and 24 hours before: observed at that time or up to 5
    minutes earlier, else null. -#}
{%- set max_age_ms = 300000 %}
{%- set now_ms = newest_minute_ms() %}
{%- set ages = {"1h": 3600000, "2h": 7200000, "4h": 14400000, "24h": 86400000} %}
with {% for name, age_ms in dict(ages, now=0).items() %}
{{ name if name == "now" else "ago_" ~ name }} as (
  select
    market_id, any_value(venue) as venue, any_value(type) as type, any_value(symbol) as symbol,
    max_by({base: base, quote: quote, hip3: hip3, aggregated: aggregated}, t) as identity,
    max_by(price, t) as price, max_by(oi_usd, t) as oi_usd, max_by(oi_base, t) as oi_base,
    max(if(oi_base is not null, t, null)) as oi_ms{% if name == "now" %},
    max_by(vol24h_usd, t) as vol24h, max_by(funding_8h, t) as funding,
    max(if(funding_8h is not null, t, null)) as funding_ms{% endif %}
  from {{ ref("series_market_1m") }}
  where t between {{ now_ms - age_ms - max_age_ms }} and {{ now_ms - age_ms }}
  group by market_id
  -- A bar or a liquidation alone does not prove that the venue still lists the market.
  -- What was fetched of the past does not prove it either.
  having count(coalesce(price, vol24h_usd, funding_8h, oi_usd)) {{ "filter (source is distinct from 'backfilled')" if name == "now" }} > 0
),
{% endfor %}
-- Not observed in the newest minutes, but in the two hours that open-interest acceleration compares: such markets are
-- listed as missing an anchor.
observed as (
  select market_id, venue, type, symbol, identity, true as listed from now
  union all
  select
    market_id, coalesce(ago_1h.venue, ago_2h.venue), coalesce(ago_1h.type, ago_2h.type),
    coalesce(ago_1h.symbol, ago_2h.symbol), coalesce(ago_1h.identity, ago_2h.identity), false
  from ago_1h full join ago_2h using (market_id) anti join now using (market_id)
),

seen as (
  select observed.*, usd_like, contract_since_ms, listed_ms, category, base_raw
  from observed left join {{ ref("instruments") }} as instruments using (market_id)
  where coalesce(delisted_ms > {{ now_ms }}, true) and coalesce(left_out not in ('premiums', 'structured'), true)
),

-- Grouped apart from the values: a window function over these rows would sort all of their columns.
only_hip3 as (
  select identity.base as base, listed from seen group by all having bool_and(identity.hip3)
)

select
  market_id, seen.venue, seen.type, seen.symbol, seen.identity.base as base, seen.identity.quote as quote,
  seen.identity.hip3 as hip3, seen.listed,
  -- HIP-3 markets count in no coin's aggregates, but a coin that only they trade has figures of its own.
  seen.identity.aggregated or (coalesce(usd_like, false) and only_hip3.base is not null) as counted,
  now.price, now.vol24h, now.funding, now.funding_ms, now.oi_usd, now.oi_base, now.oi_ms,
  {%- for name in ages %}
  now.price / nullif(ago_{{ name }}.price, 0) - 1 as px_{{ name }},
  ago_{{ name }}.oi_usd as oi_usd_{{ name }}, ago_{{ name }}.oi_base as oi_base_{{ name }}, ago_{{ name }}.oi_ms as oi_ms_{{ name }},
  {%- endfor %}
  seen.identity <> coalesce(ago_2h.identity, seen.identity) or coalesce(contract_since_ms > {{ now_ms - 7200000 - max_age_ms }}, false)
    as contract_changed,
  listed_ms, coalesce(category, []) as category,
  replace(replace(replace(
    if(seen.type = 'spot', spot_url, if(coalesce(perp_url_quote, seen.identity.quote) = seen.identity.quote, perp_url, null)),
    '{symbol}', seen.symbol), '{base_raw}', base_raw), '{quote}', seen.identity.quote) as url
from seen
left join now using (market_id)
{%- for name in ages %}
left join ago_{{ name }} using (market_id)
{%- endfor %}
left join only_hip3 on seen.identity.base = only_hip3.base and seen.listed = only_hip3.listed
left join {{ ref("venues") }} as venues on seen.venue = venues.venue
