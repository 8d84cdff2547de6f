"""Binance's past: klines, settlements, and of open interest and positioning the last 30 days."""

from collections.abc import Callable
from typing import Any, Literal

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History, Piece
from ingest.venues.binance import FUTURES, SPOT

EVERY_COIN = 60
"""In a demo the daily bars of every coin: coins are ranked by them."""


def klines(interval: str) -> Callable[[Piece], dict[str, Any]]:
    return lambda piece: {
        "symbol": piece.key,
        "interval": interval,
        "startTime": piece.begin_ms,
        "endTime": piece.end_ms - 1,
        "limit": piece.rows,
    }


def kline_weight(piece: Piece) -> int:
    # Page of the klines; Aster's is the same.
    return 1 if piece.rows < 100 else 2 if piece.rows < 500 else 5 if piece.rows <= 1000 else 10


def opened(body: Body) -> list[int]:
    return [int(row[0]) for row in body]


def settled(body: Body) -> list[int]:
    return [int(row["fundingTime"]) for row in body]


def settlements(piece: Piece) -> dict[str, Any]:
    return {"symbol": piece.key, "startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": 1000}


def _buckets(piece: Piece) -> dict[str, Any]:
    span = {"startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": piece.rows}
    return {"symbol": piece.key, "period": "1h", **span}


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int | None, days: int, sample: int) -> History:
    spot = endpoint == "spot_bars"
    return History(
        endpoint,
        interval,
        SPOT if spot else FUTURES,
        "/api/v3/klines" if spot else "/fapi/v1/klines",
        "spot" if spot else "futures",
        klines(interval),
        opened,
        # A futures request of fewer than 500 bars weighs 2.
        most=499 if interval == "1d" else 1000,
        order="span",
        days=days,
        weight=2 if spot else kline_weight,
        top=top,
        sample=sample,
    )


def _statistic(endpoint: str, path: str, top: int) -> History:
    return History(
        endpoint,
        "1h",
        FUTURES,
        f"/futures/data/{path}",
        "statistics",
        _buckets,
        lambda body: [int(row["timestamp"]) for row in body],
        most=500,
        order="span",
        days=30,
        kept_days=30,
        like="perp_bars",
        top=top,
    )


HISTORY = (
    _bars("perp_bars", "1d", None, 400, EVERY_COIN),
    _bars("spot_bars", "1d", None, 400, EVERY_COIN),
    History(
        "settlements",
        None,
        FUTURES,
        "/fapi/v1/fundingRate",
        "funding_info",
        settlements,
        settled,
        most=1000,
        order="oldest",
        days=400,
        like="perp_bars",
        sample=20,
    ),
    _statistic("open_interest_history", "openInterestHist", 100),
    _statistic("long_short_accounts", "globalLongShortAccountRatio", 50),
    _statistic("long_short_top_accounts", "topLongShortAccountRatio", 50),
    _statistic("long_short_top_positions", "topLongShortPositionRatio", 50),
    _statistic("taker_ratio", "takerlongshortRatio", 50),
    _bars("perp_bars", "1h", 100, 90, 10),
    _bars("spot_bars", "1h", 100, 90, 10),
)
