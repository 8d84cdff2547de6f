"""Spot pairs that the index of a perpetual is made of: which pairs of a coin there may be, by the perpetual's base.

Only what is asked depends on this; which legs an index really has is what the venues publish of its composition.
"""

import re
from collections.abc import Iterator

LEG_QUOTES = ("USDT", "USDC", "USD")
_MULTIPLE = re.compile(r"^1(?:0{3,}|M)(?=[A-Z])|(?<=[A-Z])10{3,}$")


def legs(base: str, between: str = "") -> Iterator[str]:
    """Pairs of the coin behind a base such as PEPE, 1000PEPE or SHIB1000; what is not listed is left out later."""
    for coin in {base, _MULTIPLE.sub("", base)}:
        yield from (f"{coin}{between}{quote}" for quote in LEG_QUOTES)
