-- What each venue said about each market in each minute, in common units: USD per ONE coin, one side of the open
-- interest, funding per 8 hours. A symbol's unit may be many coins (1000PEPE): prices are divided by the multiplier,
-- open interest is multiplied; contracts × price of a contract needs neither.
{{ config(replace_on='minute_ms', replace_buckets='select tick_ms from pipeline.window_ticks') }}
{#- How long a funding interval counts after it was seen: 5 minutes. #}
{% set carry_ms = 300000 %}
with binance_intervals_read as (
    select distinct tick_ms from {{ ref('stg_binance__funding_intervals') }} where reject is null
),

observed as (
    select
        tick_ms, 'binance' as venue, 'perp' as type, symbol,
        greatest(t.received_ms, f.received_ms, o.received_ms) as observed_ms,
        t.last_price as last, f.mark_price as mark, f.index_price as index_, t.vol24h_quote as vol24h,
        o.open_interest as oi, f.funding_rate as rate,
        -- fundingInfo names adjusted symbols alone; a list that was read and does not name one means 8 hours.
        case when r.tick_ms is not null then coalesce(i.interval_h, 8) end as interval_h
    from (select * from {{ ref('stg_binance__perp_tickers') }} where reject is null) as t
    full join (select * from {{ ref('stg_binance__funding') }} where reject is null) as f using (tick_ms, symbol)
    full join (select * from {{ ref('stg_binance__open_interest') }} where reject is null) as o using (tick_ms, symbol)
    left join (select * from {{ ref('stg_binance__funding_intervals') }} where reject is null) as i using (tick_ms, symbol)
    left join binance_intervals_read as r using (tick_ms)
    union all by name
    select tick_ms, 'binance' as venue, 'spot' as type, symbol, received_ms as observed_ms, last_price as last, vol24h_quote as vol24h
    from {{ ref('stg_binance__spot_tickers') }} where reject is null
    union all by name
    select
        t.tick_ms, 'bybit' as venue, 'perp' as type, t.symbol, t.received_ms as observed_ms,
        t.last_price as last, t.mark_price as mark, t.index_price as index_, t.vol24h_quote as vol24h,
        coalesce(t.single_open_interest, t.open_interest * v.oi_factor) as oi,
        t.funding_rate as rate, t.interval_h
    from {{ ref('stg_bybit__perp_tickers') }} as t
    left join {{ ref('venues') }} as v on v.venue = 'bybit'
    where t.reject is null
    union all by name
    select tick_ms, 'bybit' as venue, 'spot' as type, symbol, received_ms as observed_ms, last_price as last, vol24h_quote as vol24h
    from {{ ref('stg_bybit__spot_tickers') }} where reject is null
    union all by name
    select
        t.tick_ms, 'hyperliquid' as venue, 'perp' as type, t.symbol, t.received_ms as observed_ms,
        coalesce(t.mid_price, t.mark_price) as last, t.mark_price as mark, t.index_price as index_, t.vol24h_usd as vol24h,
        t.open_interest * v.oi_factor as oi, t.funding_rate as rate, 1 as interval_h
    from {{ ref('stg_hyperliquid__perp_tickers') }} as t
    left join {{ ref('venues') }} as v on v.venue = 'hyperliquid'
    where t.reject is null and not t.is_delisted
    union all by name
    select
        tick_ms, 'hyperliquid' as venue, 'spot' as type, symbol, received_ms as observed_ms,
        coalesce(mid_price, mark_price) as last, vol24h_quote as vol24h
    from {{ ref('stg_hyperliquid__spot_tickers') }} where reject is null
),

identified as (
    select
        o.tick_ms as minute_ms, i.market_id, o.venue, o.type, o.symbol, i.base, i.quote, i.hip3, i.aggregated, i.usd_like, i.multiplier,
        o.observed_ms,
        -- A price of zero is a market without one.
        nullif(o.last, 0)::double as last, nullif(o.mark, 0)::double as mark, nullif(o.index_, 0)::double as index_,
        o.vol24h::double as vol24h, o.oi::double as oi, o.rate::double as rate, o.interval_h::double as interval_h
    from observed as o
    join {{ ref('instruments') }} as i on o.venue = i.venue and o.type = i.type and o.symbol = i.symbol
    qualify row_number() over (partition by o.tick_ms, i.market_id order by o.observed_ms desc) = 1
),

-- USD for one unit of a quote that is not USD-like: the venue's own most traded spot pair of the same minute.
quote_rates as (
    select minute_ms, venue, base as quote, max_by(last / multiplier, vol24h) as usd
    from identified
    where type = 'spot' and usd_like and last is not null
    group by all
),

converted as (
    select m.*, case when m.usd_like then 1 else r.usd end as quote_usd
    from identified as m
    left join quote_rates as r on m.minute_ms = r.minute_ms and m.venue = r.venue and m.quote = r.quote
),

-- Earlier minutes count only with an interval that they observed themselves: what was carried is not carried on.
timeline as (
    select *, case when interval_h is not null then minute_ms end as seen_ms, true as in_window from converted
    {% if is_incremental() %}
    {%- set window = run_query('select min(tick_ms), max(tick_ms) from ' ~ source('pipeline', 'window_ticks')).rows[0] %}
    union all by name
    select market_id, minute_ms, funding_interval_h as interval_h, interval_seen_ms as seen_ms, false as in_window
    from {{ this }}
    where
        minute_ms between {{ window[0] or 0 }} - {{ carry_ms }} and {{ window[1] or 0 }}
        and interval_seen_ms = minute_ms
        and minute_ms not in (select w.tick_ms from {{ source('pipeline', 'window_ticks') }} as w)
    {% endif %}
),

-- The interval in force: the minute's own, else the last one seen.
known as (
    select
        *,
        last_value(interval_h ignore nulls) over recent as funding_interval_h,
        max(seen_ms) over recent as interval_seen_ms
    from timeline
    window recent as (
        partition by market_id order by minute_ms range between {{ carry_ms }} preceding and current row
    )
)

select
    minute_ms,
    market_id,
    venue,
    type,
    symbol,
    base,
    quote,
    hip3,
    aggregated,
    observed_ms,
    last * quote_usd / multiplier as price,
    mark * quote_usd / multiplier as mark_price,
    index_ * quote_usd / multiplier as index_price,
    vol24h * quote_usd as vol24h_usd,
    oi * multiplier as oi_base,
    oi * mark * quote_usd as oi_usd,
    rate as funding_rate,
    funding_interval_h,
    interval_seen_ms,
    rate * 8 / funding_interval_h as funding_8h
from known
where in_window
