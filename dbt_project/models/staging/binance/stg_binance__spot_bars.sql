with recorded as (
    {{ recorded('binance', 'spot_bars', "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    try_cast(r[1] as bigint) as opened_ms,
    try_cast(r[7] as bigint) as closed_ms,
    try_cast(r[2] as double) as open,
    try_cast(r[3] as double) as high,
    try_cast(r[4] as double) as low,
    try_cast(r[5] as double) as close,
    try_cast(r[6] as double) as volume,
    try_cast(r[8] as double) as turnover,
    try_cast(r[11] as double) as taker_buy_turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'close', 'volume', 'turnover', 'taker_buy_turnover']) }}
from recorded
