"""Hyperliquid's past: candles, of which the newest 5,000 exist, and hourly settlements."""

from typing import Literal

from ingest.declaration.past import History
from ingest.venues.hyperliquid import API, INFO


def _bars(interval: Literal["1h", "1d"], top: int, days: int, sample: int) -> History:
    return History(
        "perp_bars",
        interval,
        API,
        INFO,
        "ip",
        lambda piece: {
            "type": "candleSnapshot",
            "req": {
                "coin": piece.key,
                "interval": interval,
                "startTime": piece.begin_ms,
                "endTime": piece.end_ms - 1,
            },
        },
        lambda body: [row["t"] for row in body],
        most=2400,
        order="span",
        days=days,
        # As a bar request of the recorder: 20, and one more per 60 candles.
        weight=lambda piece: 20 + -(-piece.rows // 60),
        method="POST",
        top=top,
        sample=sample,
    )


HISTORY = (
    _bars("1d", 100, 400, 1),
    # Pages of 500, oldest first; one more per 20 rows.
    History(
        "settlements",
        None,
        API,
        INFO,
        "ip",
        lambda piece: {
            "type": "fundingHistory",
            "coin": piece.key,
            "startTime": piece.begin_ms,
            "endTime": piece.end_ms - 1,
        },
        lambda body: [row["time"] for row in body],
        most=500,
        order="oldest",
        days=90,
        weight=45,
        method="POST",
        top=20,
        sample=0,
    ),
    _bars("1h", 20, 90, 0),
)
