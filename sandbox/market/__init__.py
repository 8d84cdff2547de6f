"""The simulated market: its listings, prices, open interest, funding and liquidations at any minute, in any order."""
