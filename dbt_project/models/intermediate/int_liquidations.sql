-- Liquidation messages of the window with the side that was liquidated and its notional.
{{ config(replace_on='tick_ms', replace_buckets='select tick_ms from pipeline.window_ticks') }}
with events as (
    select 'binance' as venue, tick_ms, symbol, side, ts, size, price from {{ ref('stg_binance__liquidations') }} where reject is null
    union all
    select 'bybit' as venue, tick_ms, symbol, side, ts, size, price from {{ ref('stg_bybit__liquidations') }} where reject is null
)

select
    e.tick_ms,
    e.ts,
    i.market_id,
    e.venue,
    e.symbol,
    i.base,
    i.aggregated,
    e.side,
    case when i.usd_like then e.size * e.price end as usd,
    e.price / i.multiplier as price,
    e.size * i.multiplier as size_base
from events as e
join {{ ref('instruments') }} as i on e.venue = i.venue and i.type = 'perp' and e.symbol = i.symbol
