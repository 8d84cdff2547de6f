{%- set fields = {
    "instrument": word("r.instid"),
    "open_interest_coins": size("r.oiccy"),
    "open_contracts": size("r.oi"),
} %}
with recorded as (
    {{ recorded('okx', 'option_open_interest', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"oi\":\"VARCHAR\",\"oiCcy\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["instrument", "open_interest_coins"]) }}
from {{ read("recorded", fields) }}
