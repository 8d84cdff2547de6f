{%- set fields = {
    "opened_ms": time_ms("r[1]", past=true),
    "closed_ms": time_ms("r[7]"),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
    "turnover": amount("r[8]"),
    "taker_buy_turnover": amount("r[11]"),
} %}
with recorded as (
    {{ recorded('binance', 'spot_bars', "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume", "turnover", "taker_buy_turnover"]) }}
from {{ read("recorded", fields) }}
