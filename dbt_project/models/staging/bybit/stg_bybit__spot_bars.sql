with recorded as (
    {{ recorded('bybit', 'spot_bars', "from_json(body -> '$.result.list', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    try_cast(r[1] as bigint) as opened_ms,
    opened_ms + case params ->> '$.interval' when 'D' then 1440 else try_cast(params ->> '$.interval' as bigint) end * 60000 - 1 as closed_ms,
    try_cast(r[2] as double) as open,
    try_cast(r[3] as double) as high,
    try_cast(r[4] as double) as low,
    try_cast(r[5] as double) as close,
    try_cast(r[6] as double) as volume,
    try_cast(r[7] as double) as turnover,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'close', 'volume', 'turnover']) }}
from recorded
