{{ config(incremental_strategy="replace_keys", replace_keys=["t", "version"], replace_on="t", triggers=["every_1h", "after_history"]) }}
{#- The coins of each completed day's ranking and their returns, written once. The ranking is that of the day: coins
    that were delisted later stay in the days in which they were traded. -#}
{%- set version, most, year, window_days, volume_days, day_ms = 1, 50, 366, 90, 30, 86400000 %}
{%- set now_ms = newest_minute_ms() %}
{%- set last = last_day_ms(now_ms) %}
{%- set final = history_is_complete(now_ms) %}
{%- set bases = ref("series_base_1d") %}
{%- set open_days -%}
  select distinct t from {{ bases }}
  where t between {{ last - (year - 1) * day_ms }} and {{ last }}
  {%- if is_update() %} and t not in (select t from {{ this }} where final and version = {{ version }}){% endif %}
{%- endset %}
{%- set first = first_of(bases, open_days, last + day_ms) %}
with days as (
  {{ open_days }} and t >= {{ first }}
),

-- A coin's close: from its spot markets, or from its perps if it has none.
closes as materialized (
  select
    t, base, coalesce(max(if(type = 'spot', price, null)), max(if(type = 'perp', price, null))) as close,
    if(max(if(type = 'spot', price, null)) is null, 'perp', 'spot') as type, max(if(type = 'all', volume_usd, null)) as volume_usd
  from {{ bases }}
  where t between {{ first - window_days * day_ms }} and {{ last }}
  group by t, base
),

traded as (
  select
    *, avg(volume_usd) over (
      partition by base order by t range between {{ (volume_days - 1) * day_ms }} preceding and current row
    ) as volume_30d_usd
  from closes
),

kinds as (
  select base, reason from {{ ref("index_exclusions") }}
  union
  select quote, 'stable' from {{ ref("quotes") }} where usd_like::boolean
  union
  select 'BTC', 'benchmark'
),

ranked as (
  select
    t, base, type, close, volume_30d_usd, any_value(kinds.reason) as excluded_reason,
    if(excluded_reason is null, row_number() over (
      partition by t, excluded_reason is null order by volume_30d_usd desc, base
    ), null) as rank
  from traded
  semi join days using (t)
  left join kinds using (base)
  where close > 0 and volume_30d_usd > 0
  group by t, base, type, close, volume_30d_usd
),

-- The members, and the coins that would be members but do not count.
listed as materialized (
  select *, count(rank) over (partition by t) as n_universe
  from ranked
  qualify
    rank <= {{ most }} or base = 'BTC'
    or (excluded_reason is not null and volume_30d_usd >= min(if(rank <= {{ most }}, volume_30d_usd, null)) over (partition by t))
),

-- The market with the largest share in the coin's close.
symbols as (
  select m.t, m.base, max_by(m.symbol, m.volume_usd) as symbol
  from {{ ref("series_market_1d") }} as m
  join listed on m.t = listed.t and m.base = listed.base and m.type = listed.type
  where m.t between {{ first }} and {{ last }} and m.aggregated and m.price is not null
  group by m.t, m.base
),

returns as (
  select
    listed.*, symbols.symbol, past.close as close_90d, listed.close / past.close - 1 as return_90d
  from listed
  left join symbols on listed.t = symbols.t and listed.base = symbols.base
  left join closes as past on past.t = listed.t - {{ window_days * day_ms }} and listed.base = past.base
),

compared as (
  select *, max(if(base = 'BTC', return_90d, null)) over (partition by t) as btc_return
  from returns
)

select
  t, {{ version }} as version, rank::integer as rank, base, symbol, volume_30d_usd, close, close_90d, return_90d,
  return_90d - btc_return as vs_btc, return_90d > btc_return as beat_btc,
  coalesce(excluded_reason, if(close_90d is null, 'young', null)) as excluded_reason, btc_return, n_universe::integer as n_universe,
  {{ final | string | lower }} as final, {{ written_minute() }} as tick_ms
from compared
