-- order_book of one spot pair; one row per book. Levels are [price, size], best first. `update` is when the book was so,
-- in ms; without it, when it arrived stands for it. The pair is the request's key.
with recorded as (
    {{ recorded('gate', 'index_books', "[from_json(body,
        '{\"update\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    coalesce(try_cast(r.update as bigint), received_ms) as ts,
    try_cast(r.bids as double[2][]) as bids,
    try_cast(r.asks as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['symbol', 'ts', 'bids', 'asks']) }}
from recorded
