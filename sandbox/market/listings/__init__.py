"""The markets that the simulated venues list: each module `<venue>` of this folder has them in its `listings()`."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from sandbox.market.listing import Listing

_FIRST = ("binance", "bybit", "hyperliquid", "bitget", "mexc", "upbit", "bithumb", "coinbase", "okx", "gate", "kucoin",
          "aster", "lighter")  # fmt: skip
"""The order of the universe's rows. Other venues follow by name, so that a new one moves no row and needs no entry."""


def _declared() -> tuple[Callable[[], list[Listing]], ...]:
    names = sorted(module.name for module in iter_modules(__path__))
    ordered = [*_FIRST, *(name for name in names if name not in _FIRST)]
    return tuple(import_module(f"{__name__}.{name}").listings for name in ordered)


LISTINGS: tuple[Callable[[], list[Listing]], ...] = _declared()
