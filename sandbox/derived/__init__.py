"""What follows from the simulated market: order books, option chains, index components, positioning, wallets, truth."""
