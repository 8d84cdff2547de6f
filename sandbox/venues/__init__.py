"""The stand-ins of the venues: the wire formats, limits and streams of each in its own files."""

from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.venues import (
    aster,
    binance,
    bitget,
    bithumb,
    bybit,
    coinbase,
    deribit,
    fx,
    gate,
    hyperliquid,
    kucoin,
    lighter,
    mexc,
    okx,
    upbit,
)

SIMULATED_VENUES: tuple[SimulatedVenue, ...] = (
    binance.SIMULATED,
    bybit.SIMULATED,
    hyperliquid.SIMULATED,
    bitget.SIMULATED,
    mexc.SIMULATED,
    upbit.SIMULATED,
    bithumb.SIMULATED,
    coinbase.SIMULATED,
    fx.SIMULATED,
    deribit.SIMULATED,
    okx.SIMULATED,
    gate.SIMULATED,
    kucoin.SIMULATED,
    aster.SIMULATED,
    lighter.SIMULATED,
)
