{%- set fields = kline_fields() %}
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
