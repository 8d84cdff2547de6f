-- Closed 1-minute bars in common units. Bars are replaced by key, because an hourly catch-up brings bars of many minutes
-- for a few markets; the version that was asked last wins.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id', 'minute_ms'], replace_on='minute_ms') }}
with bars as (
    select 'binance' as venue, 'perp' as type, * from {{ ref('stg_binance__perp_bars') }} where reject is null
    union all by name
    select 'binance' as venue, 'spot' as type, * from {{ ref('stg_binance__spot_bars') }} where reject is null
    union all by name
    select 'bybit' as venue, 'perp' as type, * from {{ ref('stg_bybit__perp_bars') }} where reject is null
    union all by name
    select 'bybit' as venue, 'spot' as type, * from {{ ref('stg_bybit__spot_bars') }} where reject is null
    union all by name
    -- No turnover is published: size at the mean of the bar's four prices.
    select 'hyperliquid' as venue, case when starts_with(symbol, '@') or contains(symbol, '/') then 'spot' else 'perp' end as type, *,
        volume * (open + high + low + close) / 4 as turnover
    from {{ ref('stg_hyperliquid__perp_bars') }} where reject is null
),

closed as (
    select *
    from bars
    where opened_ms + 60000 <= tick_ms and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0
    qualify row_number() over (partition by venue, type, symbol, opened_ms order by tick_ms desc, requested_ms desc) = 1
),

identified as materialized (
    select
        b.opened_ms as minute_ms,
        i.market_id,
        b.venue,
        b.type,
        b.symbol,
        i.base,
        i.quote,
        i.hip3,
        i.aggregated,
        b.open / i.multiplier as open,
        b.high / i.multiplier as high,
        b.low / i.multiplier as low,
        b.close / i.multiplier as close,
        b.volume * i.multiplier as volume_base,
        case when i.usd_like then b.turnover end as volume_usd,
        case when i.usd_like then b.taker_buy_turnover end as taker_buy_usd,
        case when i.usd_like then b.turnover - b.taker_buy_turnover end as taker_sell_usd,
        'recorded' as source,
        b.tick_ms
    from closed as b
    join {{ ref('instruments') }} as i on b.venue = i.venue and b.type = i.type and b.symbol = i.symbol
)

select new.*
from identified as new
{% if is_incremental() %}
-- What an earlier build took from a later tick stays.
anti join (
    select old.market_id, old.minute_ms
    from {{ this }} as old
    join identified as n on old.market_id = n.market_id and old.minute_ms = n.minute_ms
    where old.tick_ms > n.tick_ms
) as later on new.market_id = later.market_id and new.minute_ms = later.minute_ms
{% endif %}
