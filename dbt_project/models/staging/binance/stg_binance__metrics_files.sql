{%- set coin_margined = binance_is_coin_margined("key") %}
{%- set fields = {
    "symbol": word("r[2]"),
    "_label": time_of_text("r[1]", "%Y-%m-%d %H:%M:%S", past=true),
    "t": binance_metrics_instant(),
    "open_interest": number("case when " ~ coin_margined ~ " then r[4] else r[3] end", "size", zero="none"),
    "open_contracts": number("case when " ~ coin_margined ~ " then r[3] end", "size", zero="none"),
    "open_interest_usd": number("case when not " ~ coin_margined ~ " then r[4] end", "amount", zero="none"),
} %}
{#- The long share of a ratio r = long ÷ short is r ÷ (1 + r). The accounts of COIN-M contradict those of its top traders (0.23
    beside 2.6): they are not read. -#}
{%- for name, text in [
    ("long_short_top_accounts", "r[5]"), ("long_short_top_positions", "r[6]"),
    ("long_short_accounts", "case when not " ~ coin_margined ~ " then r[7] end"), ("taker_ratio", "r[8]")
] -%}
    {%- do fields.update({name: number("nullif(" ~ text ~ ", '')", "fraction", "{0} / (1 + {0})")}) -%}
{%- endfor -%}
{{ file_view('binance', 'metrics_history', fields, ["symbol", "_label"], symbol=none, period="5m") }}
