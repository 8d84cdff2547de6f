"""The markets that the simulated venues list: each module `<venue>` of this folder has them in its `listings()`, and
may state in `FUNDING_CAP` the largest funding rate of its perpetuals."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from sandbox.market.listing import Listing

_FIRST = ("binance", "bybit", "hyperliquid", "bitget", "mexc", "upbit", "bithumb", "coinbase", "okx", "gate", "kucoin",
          "aster", "lighter")  # fmt: skip
"""The order of the universe's rows. Other venues follow by name, so that a new one moves no row and needs no entry."""


USUAL_CAP = 0.02


def funding_cap(venue: str) -> float:
    """The largest funding rate of a venue's perpetuals, per interval."""
    cap: float = getattr(import_module(f"{__name__}.{venue}"), "FUNDING_CAP", USUAL_CAP)
    return cap


def _declared() -> tuple[Callable[[], list[Listing]], ...]:
    names = sorted(module.name for module in iter_modules(__path__))
    ordered = [*_FIRST, *(name for name in names if name not in _FIRST)]
    return tuple(import_module(f"{__name__}.{name}").listings for name in ordered)


LISTINGS: tuple[Callable[[], list[Listing]], ...] = _declared()
