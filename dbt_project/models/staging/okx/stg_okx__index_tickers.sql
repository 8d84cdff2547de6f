with recorded as (
    {{ recorded('okx', 'index_tickers', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"idxPx\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as symbol,
    try_cast(r.idxpx as double) as index_price,
    {{ reject(['symbol', 'index_price']) }}
from recorded
