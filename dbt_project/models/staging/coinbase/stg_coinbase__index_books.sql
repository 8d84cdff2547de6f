with recorded as (
    {{ recorded('coinbase', 'index_books', "[from_json(body,
        '{\"time\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    epoch_ms(try_cast(r.time as timestamptz)) as ts,
    try_cast([level[1:2] for level in r.bids] as double[2][]) as bids,
    try_cast([level[1:2] for level in r.asks] as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['symbol', 'ts', 'bids', 'asks']) }}
from recorded
