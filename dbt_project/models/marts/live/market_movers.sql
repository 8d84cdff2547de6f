{{ config(incremental_strategy="replace_all", triggers=["recorded", "after_history"]) }}
{#- The highest and lowest values of the live tables, by section. A coin is represented by its perp with the highest
    open interest (among those with a known value), which is the first perp of its row in `markets`; HIP-3 perps are
    left out. -#}
{%- set now_ms = as_of_ms() %}
{%- set sections = {
  "price": ["fraction", "px_24h", "no perp was observed both now and 24 hours ago"],
  "oi": ["fraction", "oi_usd / nullif(oi_usd_24h, 0) - 1", "no open interest was observed both now and 24 hours ago"],
  "long_short": ["fraction", none, "no long/short reading is known both now and 24 hours ago"],
  "funding": ["fraction_per_8h", "funding", "no funding rate was observed in the last 5 minutes"],
  "liquidations": ["usd", none, "no liquidation feed was connected in the last 24 hours"],
} %}
{%- set venue, kind = var("snapshot_ratios")[0] %}
with perps as (
  select * from {{ ref("live_markets") }} where listed and type = 'perp' and counted and not hip3
),

liquidated as (
  select base, since, totals['24h']['long'] + totals['24h']['short'] as usd from {{ ref("liquidations") }}
),

candidates as (
  {%- for section, (unit, value, reason) in sections.items() if value %}
  select '{{ section }}' as section, base, venue, symbol, {{ value }} as value, oi_usd, vol24h, {{ now_ms }} as ms from perps
  union all
  {%- endfor %}
  select 'long_short', base, '{{ venue }}', ratio.symbol, ratio.chg_24h, null, null, ratio.ts
  from (select base, {{ venue }}_{{ kind }} as ratio from {{ ref("long_short") }})
  union all
  select 'liquidations', base, '', '', usd, null, null, {{ now_ms }} from liquidated where base is not null and usd > 0
),

coins as (
  select *
  from candidates
  where isfinite(value)
  qualify row_number() over (partition by section, base order by oi_usd desc nulls last, vol24h desc nulls last, venue, symbol) = 1
),

extremes as (
  select
    section, max(ms) as ms,
    {%- for side, order in {"up": "desc", "down": "asc"}.items() %}
    list({
      base: base, venue: venue, symbol: symbol, value: value, coin_url: '/api/coin/' || url_encode(base)
    } order by value {{ order }}, base)[1:5] as {{ side }}{{ "," if not loop.last }}
    {%- endfor %}
  from coins
  group by section
),

sections as (
  select unnest([
    {%- for section, (unit, value, reason) in sections.items() %}
    {section: '{{ section }}', unit: '{{ unit }}', reason: '{{ reason }}'}{{ "," if not loop.last }}
    {%- endfor %}
  ], recursive := true)
)

select
  section, if(section = 'long_short', ms, {{ now_ms }})::bigint as as_of, unit,
  -- Zero liquidations is a known result if a feed was connected.
  case
    when section = 'liquidations' then if((select usd is null from liquidated where base is null), reason, null)
    when up is null then reason
  end as unavailable,
  case section
    when 'liquidations' then
      'lower bounds: some venues publish a sample' || coalesce((
        select ', recorded completely since ' || strftime(make_timestamp(since * 1000), '%Y-%m-%dT%H:%M:%SZ') || ' only'
        from liquidated where base is null and since > {{ now_ms - 86400000 }}
      ), '')
    when 'long_short' then 'change of the long fraction of all accounts, {{ venue }}'
  end as note,
  coalesce(up, []) as up, if(section = 'liquidations', null, down) as down
from sections
left join extremes using (section)
