"""The quote currencies of the spot markets that are recorded: dollars, and tokens that are meant to be worth one.

They decide only what is requested; which quotes count as dollars in the data is decided by a seed of the dbt project.
"""

USD_LIKE = ("USDT", "USDC", "FDUSD", "TUSD", "BUSD", "USDE", "USD1", "USDH", "USDP", "PYUSD", "RLUSD", "DAI", "USD")


def in_dollars(symbol: str) -> bool:
    """Whether the symbol ends with a dollar-like quote."""
    return symbol.endswith(USD_LIKE)
