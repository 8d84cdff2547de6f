with recorded as (
    {{ recorded('deribit', 'option_index', "[{'price': body ->> '$.result.index_price', 'us': body ->> '$.usOut'}]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    upper(split_part(key, '_', 1)) as coin,
    try_cast(r.price as double) as index_price,
    try_cast(r.us as bigint) // 1000 as ts,
    {{ reject(['coin', 'index_price']) }}
from recorded
