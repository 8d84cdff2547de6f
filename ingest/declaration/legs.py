"""Legs of an index: the spot pairs that the index of a perpetual may consist of, by the perpetual's base.

They decide only which order books are requested; the components of an index are those that its venue publishes.
"""

import re
from collections.abc import Iterator

LEG_QUOTES = ("USDT", "USDC", "USD")
_MULTIPLE = re.compile(r"^1(?:0{3,}|M)(?=[A-Z])|(?<=[A-Z])10{3,}$")


def legs(base: str, between: str = "") -> Iterator[str]:
    """Spot pairs of the coin behind a base such as PEPE, 1000PEPE or SHIB1000, whether listed or not."""
    for coin in {base, _MULTIPLE.sub("", base)}:
        yield from (f"{coin}{between}{quote}" for quote in LEG_QUOTES)
