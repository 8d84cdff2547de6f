"""KuCoin's past: candles, settlements, and open interest (a unified API on the spot host, also for futures)."""

from typing import Any, Literal

from ingest.declaration.past import History, Piece
from ingest.venues.kucoin import FUTURES, SPOT


def _perp_bars(interval: Literal["1h", "1d"], top: int, days: int) -> History:
    return History(
        "perp_bars",
        interval,
        FUTURES,
        "/api/v1/kline/query",
        "public",
        lambda piece: {
            "symbol": piece.key,
            "granularity": 60 if interval == "1h" else 1440,
            "from": piece.begin_ms,
            "to": piece.end_ms - 1,
        },
        lambda body: [int(row[0]) for row in body["data"]],
        # 500 rows today, 200 by older documents.
        most=200,
        order="span",
        days=days,
        weight=3,
        top=top,
    )


def _spot_bars(interval: Literal["1h", "1d"], top: int, days: int) -> History:
    return History(
        "spot_bars",
        interval,
        SPOT,
        "/api/v1/market/candles",
        "public",
        # Seconds; the end does not belong to the answer.
        lambda piece: {
            "symbol": piece.key,
            "type": "1hour" if interval == "1h" else "1day",
            "startAt": piece.begin_ms // 1000,
            "endAt": piece.end_ms // 1000,
        },
        lambda body: [int(row[0]) * 1000 for row in body["data"]],
        most=1500,
        order="span",
        days=days,
        weight=3,
        top=top,
    )


def _held(piece: Piece) -> dict[str, Any]:
    span = {"startAt": piece.begin_ms, "endAt": piece.end_ms - 1, "pageSize": piece.rows}
    return {"symbol": piece.key, "interval": "1hour", **span}


HISTORY = (
    _perp_bars("1d", 300, 400),
    _spot_bars("1d", 300, 400),
    History(
        "settlements",
        None,
        FUTURES,
        "/api/v1/contract/funding-rates",
        "public",
        lambda piece: {"symbol": piece.key, "from": piece.begin_ms, "to": piece.end_ms - 1},
        lambda body: [row["timepoint"] for row in body["data"] or []],
        most=100,
        order="newest",
        days=400,
        weight=5,
        top=150,
    ),
    # https://www.kucoin.com/docs-new/3476287e0: weight 10, at most 200 rows.
    History(
        "open_interest_history",
        "1h",
        SPOT,
        "/api/ua/v1/market/open-interest",
        "public",
        _held,
        lambda body: [int(row["ts"]) for row in body["data"] or []],
        most=200,
        order="span",
        days=30,
        weight=10,
        like="perp_bars",
        top=50,
    ),
    _perp_bars("1h", 100, 90),
    _spot_bars("1h", 50, 90),
)
