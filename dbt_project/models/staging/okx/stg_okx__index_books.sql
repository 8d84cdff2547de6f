with recorded as (
    {{ recorded('okx', 'index_books', "from_json(body -> '$.data',
        '[{\"asks\":[[\"VARCHAR\"]],\"bids\":[[\"VARCHAR\"]],\"ts\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    try_cast(r.ts as bigint) as ts,
    try_cast([level[1:2] for level in r.bids] as double[2][]) as bids,
    try_cast([level[1:2] for level in r.asks] as double[2][]) as asks,
    'base' as size_unit,
    {{ reject(['ts', 'bids', 'asks']) }}
from recorded
