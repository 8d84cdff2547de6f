"""Coinbase's past: candles of days and hours."""

from typing import Literal

from ingest.declaration.past import History
from ingest.histories.upbit import utc
from ingest.venues.coinbase import API


def _bars(interval: Literal["1h", "1d"], top: int, days: int, sample: int) -> History:
    granularity = 3600 if interval == "1h" else 86_400
    return History(
        "spot_bars",
        interval,
        API,
        lambda piece: f"/products/{piece.key}/candles",
        "ip",
        # Both ends inclusive.
        lambda piece: {"granularity": granularity, "start": utc(piece.begin_ms), "end": utc(piece.end_ms - 1000)},
        lambda body: [row[0] * 1000 for row in body],
        most=300,
        order="span",
        days=days,
        top=top,
        sample=sample,
    )


HISTORY = (
    _bars("1d", 40, 400, 4),
    _bars("1h", 2, 90, 2),
)
