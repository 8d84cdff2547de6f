with recorded as (
    {{ recorded('kucoin', 'perp_bars', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r[1] as bigint) as opened_ms,
    opened_ms + try_cast(params ->> '$.granularity' as bigint) * 60000 - 1 as closed_ms,
    try_cast(r[2] as double) as open,
    try_cast(r[3] as double) as high,
    try_cast(r[4] as double) as low,
    try_cast(r[5] as double) as close,
    try_cast(r[6] as double) as volume_contracts,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'close', 'volume_contracts']) }}
from recorded
