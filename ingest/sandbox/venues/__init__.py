"""The stand-ins of the venues: the wire formats, limits and streams of each in its own files."""

from ingest.sandbox.standin import StandIn
from ingest.sandbox.venues import (
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

STAND_INS: tuple[StandIn, ...] = (
    binance.STAND_IN,
    bybit.STAND_IN,
    hyperliquid.STAND_IN,
    bitget.STAND_IN,
    mexc.STAND_IN,
    upbit.STAND_IN,
    bithumb.STAND_IN,
    coinbase.STAND_IN,
    fx.STAND_IN,
    deribit.STAND_IN,
    okx.STAND_IN,
    gate.STAND_IN,
    kucoin.STAND_IN,
    aster.STAND_IN,
    lighter.STAND_IN,
)
