-- level2_100 of one spot pair; one row per book of at most 100 levels a side. Levels are [price, size], best first. The
-- pair is the request's key.
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
