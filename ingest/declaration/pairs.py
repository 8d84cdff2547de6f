"""Which spot pairs are requested: those in dollars, and those that the index of a perpetual may consist of.

Both decide only what is requested. Which quotes count as dollars in the data is decided by a seed of the dbt project,
and the components of an index are those that its venue publishes.
"""

import re
from collections.abc import Iterator

USD_LIKE = ("USDT", "USDC", "FDUSD", "TUSD", "BUSD", "USDE", "USD1", "USDH", "USDP", "PYUSD", "RLUSD", "DAI", "USD")
"""Dollars, and tokens that are meant to be worth one."""
LEG_QUOTES = ("USDT", "USDC", "USD")
_MULTIPLE = re.compile(r"^1(?:0{3,}|M)(?=[A-Z])|(?<=[A-Z])10{3,}$")


def in_dollars(symbol: str) -> bool:
    """Whether the symbol ends with a dollar-like quote."""
    return symbol.endswith(USD_LIKE)


def legs(base: str, between: str = "") -> Iterator[str]:
    """Spot pairs of the coin behind a base such as PEPE, 1000PEPE or SHIB1000, whether listed or not."""
    for coin in {base, _MULTIPLE.sub("", base)}:
        yield from (f"{coin}{between}{quote}" for quote in LEG_QUOTES)
