{%- set fields = {
    "symbol": word("r.symbol"),
    "settled_ms": time_ms("r.fundingratetimestamp", past=true),
    "funding_rate": rate("r.fundingrate"),
} %}
with recorded as (
    {{ recorded('bitget', 'settlements', "from_json(body -> '$.data.resultList',
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingRateTimestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
