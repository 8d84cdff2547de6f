{{ gate_statistics(["long_taker_size", "short_taker_size"], {
    "taker_buy": size("r.long_taker_size"),
    "taker_sell": size("r.short_taker_size"),
}, required=["taker_buy", "taker_sell"], unit="contracts") }}
