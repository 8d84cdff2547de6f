{%- set fields = bar_fields(time_ms("r[1]", "s", past=true), bar_end("60000"), "r[6]", "r[7]") %}
{{ file_view('bitget', 'spot_minutes_history', fields, ["opened_ms", "open", "close", "volume", "turnover"]) }}
