with recorded as (
    {{ recorded('mexc', 'index_books', "[from_json(body,
        '{\"timestamp\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    coalesce(try_cast(r.timestamp as bigint), received_ms) as ts,
    try_cast(r.bids as double[2][]) as bids,
    try_cast(r.asks as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['symbol', 'ts', 'bids', 'asks']) }}
from recorded
