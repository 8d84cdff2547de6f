with recorded as (
    {{ recorded('bybit', 'order_books', "[from_json(body -> '$.result',
        '{\"s\":\"VARCHAR\",\"ts\":\"VARCHAR\",\"b\":[[\"VARCHAR\"]],\"a\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.s as symbol,
    try_cast(r.ts as bigint) as ts,
    try_cast(r.b as double[2][]) as bids,
    try_cast(r.a as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['symbol', 'ts', 'bids', 'asks']) }}
from recorded
