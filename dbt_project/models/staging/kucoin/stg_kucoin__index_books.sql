with recorded as (
    {{ recorded('kucoin', 'index_books', "[from_json(body -> '$.data',
        '{\"time\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.time as bigint) as ts,
    try_cast(r.bids as double[2][]) as bids,
    try_cast(r.asks as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['symbol', 'ts', 'bids', 'asks']) }}
from recorded
