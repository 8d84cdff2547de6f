"""Bithumb's past: candles of days, which begin at midnight in Seoul, and of hours."""

from datetime import UTC, datetime

from ingest.declaration.past import History
from ingest.histories.upbit import opened
from ingest.venues.bithumb import API

SEOUL_MS = 9 * 3_600_000


def _seoul(ms: int) -> str:
    # `to` is read as a time of Seoul, whatever offset it names.
    return datetime.fromtimestamp((ms + SEOUL_MS) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")


HISTORY = (
    History(
        "spot_bars",
        "1d",
        API,
        "/v1/candles/days",
        "candle",
        lambda piece: {"market": piece.key, "to": _seoul(piece.end_ms), "count": piece.rows},
        opened,
        most=200,
        order="newest",
        days=400,
        top=30,
    ),
    History(
        "spot_bars",
        "1h",
        API,
        "/v1/candles/minutes/60",
        "candle",
        lambda piece: {"market": piece.key, "to": _seoul(piece.end_ms), "count": piece.rows},
        opened,
        most=200,
        order="newest",
        days=90,
        top=6,
        sample=2,
    ),
)
