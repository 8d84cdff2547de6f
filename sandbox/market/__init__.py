"""The simulated market: prices, open interest, funding, liquidations, options, wallets; any minute, in any order."""
