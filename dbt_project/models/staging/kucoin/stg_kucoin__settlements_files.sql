{%- set fields = {
    "settled_ms": time_ms("r[2]", past=true),
    "funding_rate": rate("r[3]"),
} %}
{{ file_view('kucoin', 'funding_history', fields, ["settled_ms", "funding_rate"], header='symbol') }}
