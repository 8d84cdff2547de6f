{%- set fields = {
    "symbol": word("r.symbol"),
} %}
with recorded as (
    {{ recorded('lighter', 'perp_tickers', "from_json(body -> '$.spot_order_book_details',
        '[{\"symbol\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    nullif(split_part(r.symbol, '/', 1), '') as base_raw,
    nullif(split_part(r.symbol, '/', 2), '') as quote,
    case when r.status = 'active' then 'trading' when r.status is not null then 'halted' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote", "status"]) }}
from {{ read("recorded", fields) }}
