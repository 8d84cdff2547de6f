-- depth of one perp; one row per book. Levels are [price, size], best first: price in quote, size in the symbol's own
-- unit. T is when the book was so. The body does not name the symbol: it is the request's key.
with recorded as (
    {{ recorded('binance', 'order_books', "[from_json(body,
        '{\"T\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.t as bigint) as ts,
    try_cast(r.bids as double[2][]) as bids,
    try_cast(r.asks as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['ts', 'bids', 'asks']) }}
from recorded
