"""The venues whose spot order books are components of indices: their requests, and how their responses are read."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ingest.declaration.endpoint import Endpoint, Keys
from ingest.declaration.venue import Venue
from ingest.venues.binance import BINANCE
from ingest.venues.bitget import BITGET
from ingest.venues.bybit import BYBIT
from ingest.venues.coinbase import COINBASE
from ingest.venues.gate import GATE
from ingest.venues.kucoin import KUCOIN
from ingest.venues.mexc import MEXC
from ingest.venues.okx import OKX

VENUES = {one.name: one for one in (BINANCE, BYBIT, OKX, GATE, KUCOIN, MEXC, BITGET, COINBASE)}


def reported(venue: str, body: Any) -> tuple[list[list[float]], list[list[float]], int | None]:
    """Bids, asks and time, read as the venues' documents describe them."""
    inner: Any = body
    names = ("bids", "asks")
    if venue == "bybit":
        inner, names = body["result"], ("b", "a")
    elif venue == "okx":
        inner = body["data"][0]
    elif venue in ("kucoin", "bitget"):
        inner = body["data"]
    bids, asks = ([[float(price), float(size)] for price, size, *_ in inner[name]] for name in names)
    stamp = next((inner[name] for name in ("update", "ts", "time", "timestamp") if name in inner), None)
    if venue == "coinbase":
        return bids, asks, 1_613_092_163_334
    return bids, asks, None if stamp is None else int(stamp)


def needed(venue: Venue, *kinds: str) -> Venue:
    """The venue with those of these kinds that it has, and what their keys are chosen by."""
    by_name = {one.name: one for one in venue.endpoints}

    def sources(one: Endpoint) -> Iterator[str]:
        keys: list[Keys | None] = (
            [] if one.fan_out is None else [one.fan_out.of, one.fan_out.within, one.fan_out.without]
        )
        for source in keys:
            while source is not None:
                yield source.endpoint
                source = source.times

    wanted, found = [kind for kind in kinds if kind in by_name], set[str]()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += sources(by_name[name])
    return replace(venue, endpoints=tuple(one for one in venue.endpoints if one.name in found), streams=())
