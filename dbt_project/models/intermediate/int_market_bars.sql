-- Closed 1-minute bars in common units. Bars are replaced by key, because an hourly catch-up brings bars of many minutes
-- for a few markets. A recorded bar wins over a backfilled one; of equals the version that was asked last.
{{ config(incremental_strategy='replace_keys', replace_keys=['market_id', 'minute_ms'], replace_on='minute_ms') }}
with closed as (
    select *, case when {{ is_backfilled() }} then 'backfilled' else 'recorded' end as source
    from {{ ref('staged_bars') }}
    where reject is null and opened_ms + 60000 <= tick_ms and closed_ms = opened_ms + 59999 and opened_ms % 60000 = 0
    qualify row_number() over (
        partition by venue, type, symbol, opened_ms order by source = 'recorded' desc, tick_ms desc, requested_ms desc
    ) = 1
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
        -- Contracts of an inverse market are worth USD, of any other so many units of the symbol.
        coalesce(
            b.volume, b.volume_contracts * i.contract_size / case when i.inverse then nullif(b.close, 0) else 1 end
        ) * i.multiplier as volume_base,
        -- Where no turnover is published: size at the mean of the bar's four prices.
        case when i.usd_like then
            coalesce(b.turnover, volume_base / i.multiplier * (b.open + b.high + b.low + b.close) / 4)
        end as volume_usd,
        case when i.usd_like then b.taker_buy_turnover end as taker_buy_usd,
        case when i.usd_like then b.turnover - b.taker_buy_turnover end as taker_sell_usd,
        b.source,
        b.tick_ms
    from closed as b
    join {{ ref('instruments') }} as i on b.venue = i.venue and b.type = i.type and b.symbol = i.symbol
)

select new.*
from identified as new
{% if is_incremental() %}
-- What an earlier build recorded, or took from a later tick, stays.
anti join (
    select old.market_id, old.minute_ms
    from {{ this }} as old
    join identified as n on old.market_id = n.market_id and old.minute_ms = n.minute_ms
    where case when old.source = n.source then old.tick_ms > n.tick_ms else old.source = 'recorded' end
) as later on new.market_id = later.market_id and new.minute_ms = later.minute_ms
{% endif %}
