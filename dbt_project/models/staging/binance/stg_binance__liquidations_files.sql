{%- set coin_margined = "coalesce(" ~ binance_is_coin_margined("key") ~ ", false)" %}
{%- set fields = {
    "_order": word("r[2]"),
    "ts": time_ms("r[1]", past=true),
    "side": "case _order when 'SELL' then 'long' when 'BUY' then 'short' end",
    "size": size("case when not " ~ coin_margined ~ " then r[10] end"),
    "size_contracts": size("case when " ~ coin_margined ~ " then r[10] end"),
    "price": price("r[7]"),
} %}
{{ file_view('binance', 'liquidations_history', fields, ["ts", "side", "coalesce(size, size_contracts)", "price"]) }}
