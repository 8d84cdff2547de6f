{{ config(incremental_strategy="replace_series", replace_step="1m", replace_key="market_id") }}
{#- One minute of one market: its observation, its closed bar and its liquidations side by side. A minute that was not observed
    has the close of its bar as price if the bar was fetched or is older than the recording (the recorder's first requests bring
    bars of the minutes before), and the open interest that the venue's history has for its start. A minute of an outage has no
    price. Open interest alone makes no row, because it goes back for years. -#}
{%- set scope = source("pipeline", "window_minutes") ~ ref("touched_markets") ~ ref("int_touched_minutes") %}
{%- set facts = {"observed": "int_market_minutes", "bars": "int_market_bars"} %}
with {% if is_update() %}{{ touched_buckets("1m", "market_id") }}{% endif %}
{% for name, model in facts.items() %}
{{ name }} as (
  {% if is_update() %}{{ touched_rows(ref(model), "1m", "market_id", "minute_ms", 60000) }}
  {% else %}select * from {{ ref(model) }}{% endif %}
),
{% endfor %}
held as (
  select t as minute_ms, market_id, oi_usd, oi_base
  from (
    {% if is_update() %}{{ touched_rows(ref("int_history_oi"), "1m", "market_id", "t", 60000) }}
    {% else %}select * from {{ ref("int_history_oi") }}{% endif %}
  )
  where period_ms = 300000 and t % 60000 = 0
),

liquidation_facts as (
  select *, {{ bucket("ts", "1m") }} as minute_ms from {{ ref("int_liquidations") }}
  {% if is_update() %}
  where ts >= (select min(minute_ms) from {{ ref("int_touched_minutes") }})
    and ts < (select max(minute_ms) + 60000 from {{ ref("int_touched_minutes") }})
  {% endif %}
),

liquidations as (
  select
    minute_ms, market_id, any_value(venue) as venue, any_value(symbol) as symbol, any_value(base) as base,
    any_value(aggregated) as aggregated,
    count(*) filter (where side = 'long') as n_long, sum(usd) filter (where side = 'long') as long_usd,
    count(*) filter (where side = 'short') as n_short, sum(usd) filter (where side = 'short') as short_usd
  from liquidation_facts
  {% if is_update() %}
  where minute_ms in (select t from whole) or (minute_ms, market_id) in (select (t, market_id) from late)
  {% endif %}
  group by minute_ms, market_id
),

-- False for venues without a feed. With several connections, each must have been connected for at least a moment.
listened as (
  select tick_ms as minute_ms, venue
  from {{ ref("int_stream_minutes") }}
  where endpoint = 'liquidations'
    {% if is_update() %}and tick_ms in (select minute_ms from {{ ref("int_touched_minutes") }}){% endif %}
  group by tick_ms, venue
  having min(connected_ms) > 0
),

minutes as (
  select
    minute_ms as t, market_id,
    coalesce(observed.venue, bars.venue, liquidations.venue) as venue,
    coalesce(observed.type, bars.type, 'perp') as type,
    coalesce(observed.symbol, bars.symbol, liquidations.symbol) as symbol,
    coalesce(observed.base, bars.base, liquidations.base) as base,
    coalesce(observed.quote, bars.quote, instruments.quote) as quote,
    coalesce(observed.hip3, bars.hip3, instruments.hip3, false) as hip3,
    coalesce(observed.aggregated, bars.aggregated, liquidations.aggregated) as aggregated,
    observed.market_id is null and coalesce(bars.source = 'backfilled' or minute_ms < {{ recorded_since_ms() }}, false) as unobserved,
    if(instruments.usd_like, bars.close, null) as bar_price,
    if(unobserved, bar_price, observed.price) as price,
    {{ candle_of("bars", "instruments.usd_like") }},
    observed.vol24h_usd, bars.volume_usd, bars.taker_buy_usd, bars.taker_sell_usd,
    if(unobserved, coalesce(held.oi_usd, held.oi_base * bar_price), observed.oi_usd) as oi_usd,
    if(unobserved, coalesce(held.oi_base, held.oi_usd / nullif(bar_price, 0)), observed.oi_base) as oi_base, observed.funding_8h,
    liquidations.n_long, liquidations.long_usd, liquidations.n_short, liquidations.short_usd,
    case
      when bars.source is distinct from 'backfilled' and not (unobserved and held.market_id is not null) then 'recorded'
      when unobserved and bars.source = 'backfilled' and liquidations.market_id is null then 'backfilled'
      else 'mixed'
    end as source,
    bars.market_id is not null as has_bar
  from observed
  full join bars using (minute_ms, market_id)
  full join liquidations using (minute_ms, market_id)
  left join held using (minute_ms, market_id)
  left join {{ ref("instruments") }} as instruments using (market_id)
),
{% if is_update() %}
stored as (
  {{ touched_rows(this, "1m", "market_id", "t", 60000) }}
),
{% endif %}
fresh as (
  select
    minutes.t, market_id, minutes.venue, type, symbol, base, quote, hip3, aggregated, price, open, high, low, close,
    (open is not null)::integer as candle_n, vol24h_usd, volume_usd,
    taker_buy_usd, taker_sell_usd, oi_usd, oi_base, funding_8h, (funding_8h is not null)::integer as funding_n,
    case when n_long > 0 then long_usd when type = 'perp' and listened.venue is not null then 0.0 end as liq_long_usd,
    case when n_short > 0 then short_usd when type = 'perp' and listened.venue is not null then 0.0 end as liq_short_usd,
    (volume_usd is not null)::integer as volume_n, (type = 'perp' and listened.venue is not null)::integer as liq_n,
    source, has_bar
  from minutes
  left join listened on minutes.t = listened.minute_ms and minutes.venue = listened.venue
)

select
  fresh.* exclude (has_bar),
  {% if is_update() %}
  coalesce(stored.known_ms, {{ as_of_ms() }})::bigint as known_ms,
  case when has_bar then coalesce(stored.bar_known_ms, {{ as_of_ms() }}) end::bigint as bar_known_ms,
  {% set changed %}{{ any_differs("stored", "fresh", observed_columns()) }}
      or stored.bar_known_ms is not null and ({{ any_differs("stored", "fresh", bar_columns()) }}){% endset %}
  {{ earlier_versions("stored", changed) }} as earlier
from fresh
left join stored using (t, market_id)
  {% else %}
  {{ as_of_ms() }}::bigint as known_ms, case when has_bar then {{ as_of_ms() }} end::bigint as bar_known_ms, {{ no_versions("fresh") }} as earlier
from fresh
  {% endif %}
