"""Upbit's past: candles of days and hours."""

from datetime import UTC, datetime

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History
from ingest.venues.upbit import API


def opened(body: Body) -> list[int]:
    times = (datetime.fromisoformat(row["candle_date_time_utc"]).replace(tzinfo=UTC) for row in body)
    return [int(at.timestamp() * 1000) for at in times]


def utc(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


HISTORY = (
    # https://docs.upbit.com/kr/reference/list-candles-days: at most 200, newest first, before `to`.
    History(
        "spot_bars",
        "1d",
        API,
        "/v1/candles/days",
        "candle",
        lambda piece: {"market": piece.key, "to": utc(piece.end_ms), "count": piece.rows},
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
        lambda piece: {"market": piece.key, "to": utc(piece.end_ms), "count": piece.rows},
        opened,
        most=200,
        order="newest",
        days=90,
        top=6,
        sample=2,
    ),
)
