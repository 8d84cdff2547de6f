with recorded as (
    {{ recorded('hyperliquid', 'perp_bars', "from_json(body, '[\"JSON\"]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    try_cast(r ->> '$.t' as bigint) as opened_ms,
    try_cast(r ->> '$.T' as bigint) as closed_ms,
    try_cast(r ->> '$.o' as double) as open,
    try_cast(r ->> '$.h' as double) as high,
    try_cast(r ->> '$.l' as double) as low,
    try_cast(r ->> '$.c' as double) as close,
    try_cast(r ->> '$.v' as double) as volume,
    {{ reject(['opened_ms', 'closed_ms', 'open', 'high', 'low', 'close', 'volume']) }}
from recorded
