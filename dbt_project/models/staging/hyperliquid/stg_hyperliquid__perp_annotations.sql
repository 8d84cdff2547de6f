{%- set fields = {
    "symbol": word("r ->> '$[0]'"),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'perp_annotations', "from_json(body, '[\"JSON\"]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    nullif([r ->> '$[1].category'], [null]) as category,
    r ->> '$[1].displayName' as display_name,
    from_json(r -> '$[1].keywords', '["VARCHAR"]') as keywords,
    {{ measured(fields, required=["symbol", "category"]) }}
from {{ read("recorded", fields) }}
