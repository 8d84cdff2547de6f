"""Gate's past: candlesticks, settlements, and contract_stats: open interest, positioning and taker flow in one."""

from typing import Any, Literal

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History, Piece
from ingest.venues.gate import API, FUTURES, SPOT


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int, days: int) -> History:
    spot = endpoint == "spot_bars"
    named = "currency_pair" if spot else "contract"

    def params(piece: Piece) -> dict[str, Any]:
        # Seconds, both ends inclusive; a limit beside them is an error.
        span = {"from": piece.begin_ms // 1000, "to": (piece.end_ms - 1) // 1000}
        return {named: piece.key, "interval": interval, **span}

    def opened(body: Body) -> list[int]:
        return [int(row[0] if spot else row["t"]) * 1000 for row in body]

    return History(
        endpoint,
        interval,
        API,
        f"{SPOT}/candlesticks" if spot else f"{FUTURES}/usdt/candlesticks",
        "spot_candles" if spot else "candles",
        params,
        opened,
        most=1000,
        order="span",
        days=days,
        top=top,
    )


HISTORY = (
    _bars("perp_bars", "1d", 300, 400),
    _bars("spot_bars", "1d", 300, 400),
    History(
        "settlements",
        None,
        API,
        f"{FUTURES}/usdt/funding_rate",
        "funding",
        lambda piece: {
            "contract": piece.key,
            "from": piece.begin_ms // 1000,
            "to": (piece.end_ms - 1) // 1000,
            "limit": 1000,
        },
        lambda body: [row["t"] * 1000 for row in body],
        most=1000,
        order="newest",
        days=400,
        top=300,
    ),
    History(
        "contract_stats",
        "1h",
        API,
        f"{FUTURES}/usdt/contract_stats",
        "stats",
        lambda piece: {
            "contract": piece.key,
            "interval": "1h",
            "from": piece.begin_ms // 1000,
            "limit": piece.rows,
        },
        lambda body: [row["time"] * 1000 for row in body],
        most=1000,
        order="span",
        days=30,
        top=50,
    ),
    _bars("perp_bars", "1h", 100, 90),
    _bars("spot_bars", "1h", 50, 90),
)
