"""Lighter's past: candles and hourly settlements; few, because all of it goes through 60 requests a minute."""

from typing import Any, Literal

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History, Piece
from ingest.venues.lighter import API, PATH


def _market(piece: Piece) -> int:
    return int(piece.key.partition(":")[0])


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int, days: int) -> History:
    def params(piece: Piece) -> dict[str, Any]:
        span = {"start_timestamp": piece.begin_ms, "end_timestamp": piece.end_ms - 1, "count_back": piece.rows}
        return {"market_id": _market(piece), "resolution": interval, **span}

    def opened(body: Body) -> list[int]:
        return [row["t"] for row in body["c"] or []]

    return History(
        endpoint,
        interval,
        API,
        f"{PATH}/candles",
        "ip",
        params,
        opened,
        most=500,
        order="span",
        days=days,
        top=top,
        # Four requests a minute: a demo's minute has no more.
        sample=2 if interval == "1d" and endpoint == "perp_bars" else 0,
    )


HISTORY = (
    _bars("perp_bars", "1d", 200, 400),
    History(
        "settlements",
        None,
        API,
        f"{PATH}/fundings",
        "ip",
        # Seconds.
        lambda piece: {
            "market_id": _market(piece),
            "resolution": "1h",
            "start_timestamp": piece.begin_ms // 1000,
            "end_timestamp": (piece.end_ms - 1) // 1000,
            "count_back": 0,
        },
        lambda body: [row["timestamp"] * 1000 for row in body["fundings"] or []],
        most=750,
        order="newest",
        days=90,
        top=30,
        sample=1,
    ),
    _bars("perp_bars", "1h", 10, 90),
    _bars("spot_bars", "1d", 5, 400),
)
