{%- set fields = {
    "instrument": word("r.instid"),
    "volume_coins": size("r.volccy24h"),
} %}
with recorded as (
    {{ recorded('okx', 'option_volumes', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"volCcy24h\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["instrument", "volume_coins"]) }}
from {{ read("recorded", fields) }}
