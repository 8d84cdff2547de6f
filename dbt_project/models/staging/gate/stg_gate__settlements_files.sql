{%- set fields = {
    "settled_ms": time_ms("r[1]", "s", past=true),
    "funding_rate": rate("r[2]"),
} %}
{{ file_view('gate', 'funding_history', fields, ["settled_ms", "funding_rate"]) }}
