{%- set fields = {
    "opened_ms": time_ms("r.t", "s", past=true),
    "closed_ms": bar_end(period_ms("params ->> '$.interval'")),
    "open": price("r.o"),
    "high": price("r.h"),
    "low": price("r.l"),
    "close": price("r.c"),
    "volume_contracts": size("r.v"),
    "turnover": amount("r.sum"),
} %}
with recorded as (
    {{ recorded('gate', 'perp_bars', "from_json(body,
        '[{\"t\":\"VARCHAR\",\"o\":\"VARCHAR\",\"h\":\"VARCHAR\",\"l\":\"VARCHAR\",\"c\":\"VARCHAR\",\"v\":\"VARCHAR\",
           \"sum\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume_contracts", "turnover"]) }}
from {{ read("recorded", fields) }}
