"""Aster's past, in Binance's format: klines and settlements."""

from typing import Literal

from ingest.declaration.past import History
from ingest.histories.binance import kline_weight, klines, opened, settled, settlements
from ingest.venues.aster import FUTURES, SPOT


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int, days: int) -> History:
    spot = endpoint == "spot_bars"
    return History(
        endpoint,
        interval,
        SPOT if spot else FUTURES,
        "/api/v1/klines" if spot else "/fapi/v1/klines",
        "spot" if spot else "futures",
        klines(interval),
        opened,
        most=499 if interval == "1d" else 1000,
        order="span",
        days=days,
        # The spot page gives klines no weight: the futures page's is assumed.
        weight=kline_weight,
        top=top,
    )


HISTORY = (
    _bars("perp_bars", "1d", 300, 400),
    _bars("spot_bars", "1d", 50, 400),
    History(
        "settlements",
        None,
        FUTURES,
        "/fapi/v1/fundingRate",
        "futures",
        settlements,
        settled,
        most=1000,
        order="oldest",
        days=400,
        like="perp_bars",
        top=300,
    ),
    _bars("perp_bars", "1h", 100, 90),
    _bars("spot_bars", "1h", 20, 90),
)
