"""Spot markets whose bars are recorded: those quoted in something that is meant to be worth a dollar.

Only what is asked depends on this list; which quotes count as dollars in the data is a seed of the dbt project.
"""

USD_LIKE = ("USDT", "USDC", "FDUSD", "TUSD", "BUSD", "USDE", "USD1", "USDH", "USDP", "PYUSD", "RLUSD", "DAI", "USD")


def in_dollars(symbol: str) -> bool:
    """Whether the symbol ends with a dollar-like quote."""
    return symbol.endswith(USD_LIKE)
