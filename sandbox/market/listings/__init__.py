"""The markets that each simulated venue lists: a file per venue, in the order in which the universe holds them."""

from collections.abc import Callable

from sandbox.market.listing import Listing
from sandbox.market.listings import (
    aster,
    binance,
    bitget,
    bithumb,
    bybit,
    coinbase,
    gate,
    hyperliquid,
    kucoin,
    lighter,
    mexc,
    okx,
    upbit,
)

LISTINGS: tuple[Callable[[], list[Listing]], ...] = (
    binance.listings,
    bybit.listings,
    hyperliquid.listings,
    bitget.listings,
    mexc.listings,
    upbit.listings,
    bithumb.listings,
    coinbase.listings,
    okx.listings,
    gate.listings,
    kucoin.listings,
    aster.listings,
    lighter.listings,
)
