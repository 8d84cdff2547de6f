{%- set coin_margined = binance_is_coin_margined("key") %}
{{ binance_metrics({
    "t": binance_metrics_instant(),
    "open_interest": number("case when " ~ coin_margined ~ " then r[4] else r[3] end", "size", zero="none"),
    "open_contracts": number("case when " ~ coin_margined ~ " then r[3] end", "size", zero="none"),
    "open_interest_usd": number("case when not " ~ coin_margined ~ " then r[4] end", "amount", zero="none"),
}) }}
