{%- set fields = {
    "opened_ms": time_ms("r ->> '$.t'", past=true),
    "closed_ms": bar_end(period_ms("coalesce(params ->> '$.resolution', '1m')")),
    "open": price("r ->> '$.o'"),
    "high": price("r ->> '$.h'"),
    "low": price("r ->> '$.l'"),
    "close": price("r ->> '$.c'"),
    "volume": size("r ->> '$.v'"),
    "turnover": amount("r ->> '$.V'"),
} %}
with recorded as (
    {{ recorded('lighter', 'perp_bars', "case when json_valid(body) then coalesce(from_json(body -> '$.c', '[\"JSON\"]'), []) end",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    substr(key, strpos(key, ':') + 1) as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "high", "low", "close", "volume", "turnover"]) }}
from {{ read("recorded", fields) }}
