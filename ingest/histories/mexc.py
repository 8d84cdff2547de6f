"""MEXC's past: candles and settlements."""

from typing import Literal

from ingest.declaration.past import History
from ingest.venues.mexc import API, CONTRACT, SPOT


def _perp_bars(interval: Literal["1h", "1d"], top: int, days: int) -> History:
    return History(
        "perp_bars",
        interval,
        API,
        lambda piece: f"{CONTRACT}/kline/{piece.key}",
        "kline",
        # Seconds, both ends inclusive.
        lambda piece: {
            "interval": "Min60" if interval == "1h" else "Day1",
            "start": piece.begin_ms // 1000,
            "end": piece.end_ms // 1000 - 1,
        },
        lambda body: [second * 1000 for second in body["data"]["time"]],
        most=1000,
        order="span",
        days=days,
        top=top,
    )


def _spot_bars(interval: Literal["1h", "1d"], top: int, days: int) -> History:
    return History(
        "spot_bars",
        interval,
        API,
        f"{SPOT}/klines",
        "spot",
        lambda piece: {
            "symbol": piece.key,
            "interval": "60m" if interval == "1h" else "1d",
            "startTime": piece.begin_ms,
            "endTime": piece.end_ms - 1,
            "limit": piece.rows,
        },
        lambda body: [int(row[0]) for row in body],
        most=500,
        order="span",
        days=days,
        top=top,
    )


HISTORY = (
    _perp_bars("1d", 300, 400),
    _spot_bars("1d", 300, 400),
    History(
        "settlements",
        None,
        API,
        f"{CONTRACT}/funding_rate/history",
        "settlements",
        lambda piece: {"symbol": piece.key, "page_num": piece.page, "page_size": 100},
        lambda body: [row["settleTime"] for row in body["data"]["resultList"]],
        most=100,
        order="pages",
        days=180,
        top=100,
    ),
    _perp_bars("1h", 100, 90),
    _spot_bars("1h", 50, 90),
)
