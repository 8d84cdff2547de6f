with recorded as (
    {{ recorded('binance', 'taker_ratio', "from_json(body,
        '[{\"buyVol\":\"VARCHAR\",\"sellVol\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.timestamp as bigint) as t,
    {{ binance_period_ms() }} as period_ms,
    try_cast(r.buyvol as double) as taker_buy,
    try_cast(r.sellvol as double) as taker_sell,
    'base' as unit,
    {{ reject(['t', 'period_ms', 'taker_buy', 'taker_sell']) }}
from recorded
