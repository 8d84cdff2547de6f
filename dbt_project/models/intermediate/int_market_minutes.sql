-- What each venue said about each market in each minute, in common units: USD per ONE coin, one side of the open
-- interest, funding per 8 hours. A symbol's unit may be many coins (1000PEPE): prices are divided by the multiplier,
-- open interest is multiplied; contracts × price of a contract needs neither.
{{ config(replace_on='minute_ms', replace_buckets='select tick_ms from pipeline.window_ticks') }}
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

-- The interval in force, where the same minute did not say it: the last one said, at most 5 minutes before.
intervals as (
    select market_id, minute_ms as interval_seen_ms, interval_h from identified where interval_h is not null
    {% if is_incremental() %}
    {%- set window = run_query('select min(tick_ms), max(tick_ms) from ' ~ source('pipeline', 'window_ticks')).rows[0] %}
    union all
    select market_id, minute_ms, funding_interval_h
    from {{ this }}
    where
        minute_ms between {{ window[0] or 0 }} - {{ carry_ms }} and {{ window[1] or 0 }}
        and interval_seen_ms = minute_ms
        and minute_ms not in (select w.tick_ms from {{ source('pipeline', 'window_ticks') }} as w)
    {% endif %}
),

converted as (
    select m.*, case when m.usd_like then 1 else r.usd end as quote_usd
    from identified as m
    left join quote_rates as r on m.minute_ms = r.minute_ms and m.venue = r.venue and m.quote = r.quote
)

select
    m.minute_ms,
    m.market_id,
    m.venue,
    m.type,
    m.symbol,
    m.base,
    m.quote,
    m.hip3,
    m.aggregated,
    m.observed_ms,
    m.last * m.quote_usd / m.multiplier as price,
    m.mark * m.quote_usd / m.multiplier as mark_price,
    m.index_ * m.quote_usd / m.multiplier as index_price,
    m.vol24h * m.quote_usd as vol24h_usd,
    m.oi * m.multiplier as oi_base,
    m.oi * m.mark * m.quote_usd as oi_usd,
    m.rate as funding_rate,
    case when m.minute_ms - i.interval_seen_ms <= {{ carry_ms }} then i.interval_h end as funding_interval_h,
    case when m.minute_ms - i.interval_seen_ms <= {{ carry_ms }} then i.interval_seen_ms end as interval_seen_ms,
    m.rate * 8 / case when m.minute_ms - i.interval_seen_ms <= {{ carry_ms }} then i.interval_h end as funding_8h
from converted as m
asof left join intervals as i on m.market_id = i.market_id and m.minute_ms >= i.interval_seen_ms
