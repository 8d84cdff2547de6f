{%- set fields = {
    "opened_ms": time_ms("r[1]", "s", past=true),
    "closed_ms": bar_end("60000"),
    "open": price("r[6]"),
    "high": price("r[4]"),
    "low": price("r[5]"),
    "close": price("r[3]"),
    "volume": size("r[2]"),
} %}
{{ file_view('gate', 'spot_minutes_history', fields, ["opened_ms", "open", "close", "volume"]) }}
