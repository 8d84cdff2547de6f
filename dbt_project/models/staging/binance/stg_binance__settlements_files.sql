{%- set fields = {
    "settled_ms": time_ms("r[1]", past=true),
    "interval_h": hours("r[2]"),
    "funding_rate": rate("r[3]"),
} %}
{{ file_view('binance', 'funding_history', fields, ["settled_ms", "funding_rate"]) }}
