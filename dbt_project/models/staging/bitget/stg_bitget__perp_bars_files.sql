{%- set fields = {
    "opened_ms": time_ms("r[1]", "s", past=true),
    "closed_ms": bar_end("60000"),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
    "turnover": amount("r[7]"),
} %}
{{ file_view('bitget', 'perp_minutes_history', fields, ["opened_ms", "open", "close", "volume", "turnover"]) }}
