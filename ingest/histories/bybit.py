"""Bybit's past: klines, settlements, open interest and the account ratio, all from the listing on."""

from typing import Any, Literal

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History, Piece
from ingest.venues.bybit import API

MARKET = "/v5/market"


def _rows(body: Body) -> list[Any]:
    rows: list[Any] = body["result"]["list"]
    return rows


def _span(piece: Piece, **more: Any) -> dict[str, Any]:
    span = {"startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": piece.rows}
    return {"category": "linear", "symbol": piece.key, **span, **more}


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int, days: int) -> History:
    named = {"category": "spot" if endpoint == "spot_bars" else "linear", "interval": "D" if interval == "1d" else "60"}
    return History(
        endpoint,
        interval,
        API,
        f"{MARKET}/kline",
        "ip",
        lambda piece: {
            "symbol": piece.key,
            "start": piece.begin_ms,
            "end": piece.end_ms - 1,
            "limit": piece.rows,
            **named,
        },
        lambda body: [int(row[0]) for row in _rows(body)],
        most=1000,
        order="span",
        days=days,
        top=top,
    )


def _accounts(period: Literal["1h", "1d"], days: int) -> History:
    return History(
        "long_short_accounts",
        period,
        API,
        f"{MARKET}/account-ratio",
        "ip",
        lambda piece: _span(piece, period=period),
        lambda body: [int(row["timestamp"]) for row in _rows(body)],
        most=500,
        order="span",
        days=days,
        top=50,
    )


HISTORY = (
    _bars("perp_bars", "1d", 300, 400),
    _bars("spot_bars", "1d", 300, 400),
    History(
        "settlements",
        None,
        API,
        f"{MARKET}/funding/history",
        "ip",
        lambda piece: _span(piece, limit=200),
        lambda body: [int(row["fundingRateTimestamp"]) for row in _rows(body)],
        most=200,
        order="newest",
        days=400,
        top=300,
    ),
    History(
        "open_interest_history",
        "1h",
        API,
        f"{MARKET}/open-interest",
        "ip",
        lambda piece: _span(piece, intervalTime="1h"),
        lambda body: [int(row["timestamp"]) for row in _rows(body)],
        most=200,
        order="span",
        days=30,
        like="perp_bars",
        top=100,
    ),
    _accounts("1h", 30),
    _accounts("1d", 400),
    _bars("perp_bars", "1h", 100, 90),
    _bars("spot_bars", "1h", 50, 90),
)
