{%- set fields = {
    "opened_ms": time_of_text("r.candle_date_time_utc", "%Y-%m-%dT%H:%M:%S", past=true),
    "closed_ms": bar_end(period_ms("coalesce(r.unit, '1440')", unit_ms=60000)),
    "symbol": word("r.market"),
    "open": price("r.opening_price"),
    "high": price("r.high_price"),
    "low": price("r.low_price"),
    "close": price("r.trade_price"),
    "volume": size("r.candle_acc_trade_volume"),
    "turnover": amount("r.candle_acc_trade_price"),
} %}
with recorded as (
    {{ recorded('upbit', 'spot_bars', "from_json(body,
        '[{\"market\":\"VARCHAR\",\"candle_date_time_utc\":\"VARCHAR\",\"opening_price\":\"VARCHAR\",\"high_price\":\"VARCHAR\",
           \"low_price\":\"VARCHAR\",\"trade_price\":\"VARCHAR\",\"candle_acc_trade_price\":\"VARCHAR\",
           \"candle_acc_trade_volume\":\"VARCHAR\",\"unit\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "opened_ms", "closed_ms", "open", "high", "low", "close", "volume", "turnover"]) }}
from {{ read("recorded", fields) }}
