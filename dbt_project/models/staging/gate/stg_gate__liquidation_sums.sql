{{ gate_statistics(["long_liq_usd", "short_liq_usd"], {
    "long_usd": amount("r.long_liq_usd"),
    "short_usd": amount("r.short_liq_usd"),
}) }}
