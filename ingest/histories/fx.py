"""The won's price of a dollar in the past: the ECB's daily reference rates. The bank's own are not to be had."""

from datetime import UTC, datetime

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History, Piece
from ingest.venues.fx import DAILY


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d")


def _days(piece: Piece) -> str:
    return f"/v1/{_day(piece.begin_ms)}..{_day(piece.end_ms - 1)}"


def _dates(body: Body) -> list[int]:
    return [int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000) for day in body["rates"]]


HISTORY = (
    History(
        "fx_daily",
        "1d",
        DAILY,
        _days,
        "daily",
        lambda piece: {"base": "USD", "symbols": "KRW"},
        _dates,
        most=400,
        order="span",
        days=400,
    ),
)
