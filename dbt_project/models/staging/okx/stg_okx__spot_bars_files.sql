{%- set fields = {
    "symbol": word("r[1]"),
    "opened_ms": time_ms("r[9]", past=true),
    "closed_ms": bar_end("60000"),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
    "turnover": amount("r[8]"),
} %}
{{ file_view('okx', 'spot_minutes_history', fields, ["symbol", "opened_ms", "open", "close", "volume", "turnover"], header='instrument_name', symbol=none) }}
