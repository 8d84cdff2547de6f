{#- Instants at the end of a file's day are those of the next file. -#}
{%- set fields = {
    "symbol": word("r[2]"),
    "_at": time_of_text("r[1]", past=true),
    "t": nearest_five_minutes("_at"),
    "open_interest": number("r[4]", "size", zero="none"),
    "_mark": price("r[9]"),
    "open_interest_usd": within("open_interest * _mark", "amount"),
} -%}
{{ file_view('hyperliquid', 'contexts_history', fields, ["symbol", "_at"], symbol=none, period="5m") }}
where _at is null or {{ nearest_five_minutes("_at") }} < {{ file_day_end_ms() }}
qualify
    _at is null
    or row_number() over (
        partition by tick_ms, requested_ms, params, symbol, {{ nearest_five_minutes("_at") }}
        order by abs(_at - {{ nearest_five_minutes("_at") }})
    ) = 1
