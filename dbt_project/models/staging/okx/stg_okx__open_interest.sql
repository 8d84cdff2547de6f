{%- set fields = {
    "symbol": word("r.instid"),
    "open_interest": size("r.oiccy"),
    "open_contracts": size("r.oi"),
} %}
with recorded as (
    {{ recorded('okx', 'open_interest', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"oi\":\"VARCHAR\",\"oiCcy\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "open_interest"]) }}
from {{ read("recorded", fields) }}
where coalesce(r.insttype, 'SWAP') = 'SWAP'
