with recorded as (
    {{ recorded('bybit', 'option_tickers', "[{'price': body ->> '$.result.list[0].indexPrice', 'ms': body ->> '$.time'}]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as coin,
    nullif(try_cast(r.price as double), 0) as index_price,
    try_cast(r.ms as bigint) as ts,
    {{ reject(['coin', 'index_price']) }}
from recorded
