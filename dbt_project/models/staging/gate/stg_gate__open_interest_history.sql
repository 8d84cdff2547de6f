{{ gate_statistics(["open_interest", "open_interest_usd"], {
    "open_contracts": size("r.open_interest"),
    "open_interest_usd": amount("r.open_interest_usd"),
}, required=["open_contracts"]) }}
