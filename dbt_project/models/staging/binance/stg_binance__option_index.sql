with recorded as (
    {{ recorded('binance', 'option_index', "[from_json(body, '{\"time\":\"BIGINT\",\"indexPrice\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    replace(key, 'USDT', '') as coin,
    try_cast(r.indexprice as double) as index_price,
    r.time as ts,
    {{ reject(['coin', 'index_price']) }}
from recorded
