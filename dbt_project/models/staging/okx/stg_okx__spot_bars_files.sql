{%- set fields = dict({"symbol": word("r[1]")}, **bar_fields(time_ms("r[9]", past=true), bar_end("60000"), "r[6]", "r[8]")) %}
{{ file_view('okx', 'spot_minutes_history', fields, ["symbol", "opened_ms", "open", "close", "volume", "turnover"], header='instrument_name', symbol=none) }}
