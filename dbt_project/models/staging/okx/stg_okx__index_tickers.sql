{%- set fields = {
    "symbol": word("r.instid"),
    "index_price": price("r.idxpx", zero="none"),
} %}
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
    {{ measured(fields, required=["symbol", "index_price"]) }}
from {{ read("recorded", fields) }}
