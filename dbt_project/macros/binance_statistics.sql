{#- Binance's statistics of one perp (/futures/data): lists of buckets, oldest first, of the period that was asked for. -#}

{#- Long shares. longAccount is the share that is long, also where positions are counted. -#}
{% macro binance_long_fractions(kind) -%}
{%- set fields = {
    "symbol": word("r.symbol"),
    "t": time_ms("r.timestamp", past=true),
    "long_fraction": fraction("r.longaccount"),
} %}
with recorded as (
    {{ recorded('binance', kind, "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"longAccount\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["symbol", "t", "period_ms", "long_fraction"]) }}
from {{ read("recorded", fields) }}
{%- endmacro %}
