{{ binance_metrics({
    "t": binance_metrics_instant(),
    "open_interest": number("r[3]", "size", zero="none"),
    "open_interest_usd": number("r[4]", "amount", zero="none"),
}) }}
