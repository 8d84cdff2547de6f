{%- set fields = {
    "opened_ms": time_ms(ms_text("r[1]"), past=true),
    "closed_ms": time_ms(ms_text("r[7]")),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
    "turnover": amount("r[8]"),
    "taker_buy_turnover": amount("r[11]"),
} %}
{{ file_view('binance', 'perp_minutes_history', fields, ["opened_ms", "closed_ms", "open", "close", "volume", "turnover", "taker_buy_turnover"]) }}
