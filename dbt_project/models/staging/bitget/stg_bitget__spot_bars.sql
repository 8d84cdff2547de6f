{%- set fields = bar_fields(time_ms("r[1]", past=true), bar_end(period_ms("params ->> '$.granularity'")), "r[6]", "r[7]") %}
with recorded as (
    {{ recorded('bitget', 'spot_bars', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume", "turnover"]) }}
from {{ read("recorded", fields) }}
