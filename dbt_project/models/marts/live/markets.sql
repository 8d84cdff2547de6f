{{ config(incremental_strategy="replace_all") }}
{#- Every coin as of the newest minute, with its markets. A value that is more than 5 minutes older than the time it
    stands for is unknown; a market that has none drops out. -#}
{%- set max_age_ms = 300000 %}
{%- set ages = {"1h": 3600000, "4h": 14400000, "24h": 86400000} %}
with seen as (
  select
    market_id, any_value(venue) as venue, any_value(type) as type, any_value(symbol) as symbol,
    max_by({base: base, quote: quote, hip3: hip3, aggregated: aggregated}, t) as identity,
    max_by(price, t) as price, max_by(vol24h_usd, t) as vol24h, max_by(funding_8h, t) as funding,
    max_by(oi_usd, t) as oi_usd
  from {{ ref("series_market_1m") }}
  where t between {{ newest_minute() }} - {{ max_age_ms }} and {{ newest_minute() }}
  group by market_id
  -- A bar or a liquidation alone does not say that the venue still lists the market.
  having count(coalesce(price, vol24h_usd, funding_8h, oi_usd)) > 0
),
{% for name, age_ms in ages.items() %}
ago_{{ name }} as (
  select market_id, max_by(price, t) as price, max_by(oi_usd, t) as oi_usd
  from {{ ref("series_market_1m") }}
  where t between {{ newest_minute() }} - {{ age_ms + max_age_ms }} and {{ newest_minute() }} - {{ age_ms }}
  group by market_id
),
{% endfor %}
markets as (
  select
    seen.venue, seen.type, seen.symbol, identity.base as base, identity.quote as quote, identity.hip3 as hip3,
    seen.price, vol24h, funding, seen.oi_usd,
    {%- for name in ages %}
    seen.price / nullif(ago_{{ name }}.price, 0) - 1 as px_{{ name }},
    seen.oi_usd / nullif(ago_{{ name }}.oi_usd, 0) - 1 as oi_{{ name }},
    if(seen.oi_usd is not null, ago_{{ name }}.oi_usd, null) as oi_usd_{{ name }},
    {%- endfor %}
    replace(replace(replace(if(seen.type = 'perp', perp_url, spot_url),
      '{symbol}', seen.symbol), '{base_raw}', base_raw), '{quote}', identity.quote) as url,
    coalesce(category, []) as category,
    -- HIP-3 markets count in no coin's aggregates, but a coin that only they trade has figures of its own.
    identity.aggregated
      or (coalesce(usd_like, false) and bool_and(identity.hip3) over (partition by identity.base)) as counted
  from seen
  {%- for name in ages %}
  left join ago_{{ name }} using (market_id)
  {%- endfor %}
  left join {{ ref("instruments") }} as instruments using (market_id)
  left join {{ ref("venues") }} as venues on seen.venue = venues.venue
  where coalesce(delisted_ms > {{ newest_minute() }}, true)
),

entries as (
  select
    *,
    {
      venue: venue, symbol: symbol, quote: quote, price: price, vol24h: vol24h, funding: funding, oi_usd: oi_usd,
      {% for name in ages %}px_{{ name }}: px_{{ name }}, {% endfor %}
      {% for name in ages %}oi_{{ name }}: oi_{{ name }}, {% endfor %}
      url: url, hip3: hip3
    } as entry
  from markets
)

select
  base,
  sum(vol24h) filter (counted and type = 'perp') as perp_vol24h,
  sum(vol24h) filter (counted and type = 'spot') as spot_vol24h,
  sum(oi_usd) filter (counted) as oi_usd,
  {{ weighted_mean("if(counted, funding, null)", "oi_usd") }} as funding_avg,
  list(distinct venue order by venue) as venues,
  bool_and(hip3) as hip3,
  list_sort(list_distinct(flatten(list(category)))) as cat,
  {%- for name in ages %}
  sum(oi_usd) filter (counted and oi_usd_{{ name }} > 0)
    / sum(oi_usd_{{ name }}) filter (counted and oi_usd_{{ name }} > 0) - 1 as oi_{{ name }},
  {%- endfor %}
  if(count(funding) filter (counted and oi_usd > 0) > 1,
    max(funding) filter (counted and oi_usd > 0) - min(funding) filter (counted and oi_usd > 0), null) as funding_spread,
  {#- The greatest first, unknown ones last. Sorted as finished lists: inside the aggregate that takes three times
     as long. #}
  {%- for type, figures in {"perp": ["oi_usd", "vol24h"], "spot": ["vol24h"]}.items() %}
  list_transform(list_sort(coalesce(list({
    {% for name in figures %}{{ name }}: coalesce(-{{ name }}, 'inf'), {% endfor %}
    venue: venue, symbol: symbol, entry: entry
  }) filter (type = '{{ type }}'), [])), lambda one: one.entry) as {{ type }}s{{ "," if not loop.last }}
  {%- endfor %}
from entries
group by base
