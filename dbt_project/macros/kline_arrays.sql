{#- The fields of a bar in the array format: [open time, o, h, l, c, volume (base), close time, turnover (quote), trades, taker
    buy (base), taker buy (quote), …]; `time` is how a time is written, if not in ms. -#}
{% macro kline_fields(time="{0}") -%}
{{ return({
    "opened_ms": time_ms(time.format("r[1]"), past=true),
    "closed_ms": time_ms(time.format("r[7]")),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
    "turnover": amount("r[8]"),
    "taker_buy_turnover": amount("r[11]"),
}) }}
{%- endmacro %}

{#- The fields of a bar as a list that has o, h, l, c from its second place on. -#}
{% macro bar_fields(opened_ms, closed_ms, volume, turnover) -%}
{{ return({
    "opened_ms": opened_ms,
    "closed_ms": closed_ms,
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size(volume),
    "turnover": amount(turnover),
}) }}
{%- endmacro %}

{#- Bars of the array format. The symbol is the request's key. -#}
{% macro kline_arrays(venue, kind) -%}
{%- set fields = kline_fields() %}
with recorded as (
    {{ recorded(venue, kind, "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "high", "low", "close", "volume", "turnover", "taker_buy_turnover"]) }}
from {{ read("recorded", fields) }}
{%- endmacro %}
