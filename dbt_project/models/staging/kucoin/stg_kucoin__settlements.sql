{%- set fields = {
    "settled_ms": time_ms("r.timepoint", past=true),
    "funding_rate": rate("r.fundingrate"),
} %}
with recorded as (
    {{ recorded('kucoin', 'settlements', "case when json_type(body, '$.data') = 'NULL' then []
        else from_json(body -> '$.data', '[{\"fundingRate\":\"VARCHAR\",\"timepoint\":\"VARCHAR\"}]') end", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
