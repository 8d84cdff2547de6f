{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.symbol"),
} %}
with recorded as (
    {{ recorded('lighter', 'perp_tickers', "from_json(body -> '$.order_book_details',
        '[{\"symbol\":\"VARCHAR\",\"market_type\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    'USDC' as quote,
    'USDC' as settle,
    r.market_type as contract_type,
    case when r.status = 'active' then 'trading' when r.status is not null then 'halted' end as status,
    1.0::double as interval_h,
    {{ measured(fields, required=["symbol", "status"]) }}
from {{ read("recorded", fields) }}
