{%- set fields = {
    "symbol": word("r[1]"),
    "settled_ms": time_ms("r[3]", past=true),
    "funding_rate": rate("r[2]"),
} %}
{{ file_view('okx', 'funding_history', fields, ["symbol", "settled_ms", "funding_rate"], header='instrument_name', symbol=none) }}
