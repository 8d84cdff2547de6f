{%- set fields = {
    "dex": word("r.name"),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'perp_dexes', "list_filter(from_json(body,
        '[{\"name\":\"VARCHAR\",\"fullName\":\"VARCHAR\"}]'), lambda d: d is not null)", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.fullname as full_name,
    {{ measured(fields, required=["dex"]) }}
from {{ read("recorded", fields) }}
