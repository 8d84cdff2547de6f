"""What can be fetched of each venue's past: a file per venue, beside its declaration in `ingest.venues`."""

from collections.abc import Mapping

from ingest.declaration.past import History
from ingest.histories import (
    aster,
    binance,
    bitget,
    bithumb,
    bybit,
    coinbase,
    fx,
    gate,
    hyperliquid,
    kucoin,
    lighter,
    mexc,
    okx,
    upbit,
)

HISTORIES: Mapping[str, tuple[History, ...]] = {
    "binance": binance.HISTORY,
    "bybit": bybit.HISTORY,
    "hyperliquid": hyperliquid.HISTORY,
    "bitget": bitget.HISTORY,
    "okx": okx.HISTORY,
    "gate": gate.HISTORY,
    "mexc": mexc.HISTORY,
    "kucoin": kucoin.HISTORY,
    "aster": aster.HISTORY,
    "lighter": lighter.HISTORY,
    "upbit": upbit.HISTORY,
    "bithumb": bithumb.HISTORY,
    "coinbase": coinbase.HISTORY,
    "fx": fx.HISTORY,
}
