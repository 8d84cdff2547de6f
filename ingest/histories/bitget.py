"""Bitget's past: candles and settlements. Of positioning it keeps the last 30 buckets alone."""

from typing import Any, Literal

from ingest.declaration.endpoint import Body
from ingest.declaration.past import History, Piece
from ingest.venues.bitget import API, category


def _opened(body: Body) -> list[int]:
    return [int(row[0]) for row in body["data"]]


def _bars(endpoint: str, interval: Literal["1h", "1d"], top: int, days: int) -> History:
    spot = endpoint == "spot_bars"
    named = "1Dutc" if interval == "1d" else "1h" if spot else "1H"

    def params(piece: Piece) -> dict[str, Any]:
        span = {"startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": piece.rows}
        product = {} if spot else {"productType": category(piece.key)}
        return {"symbol": piece.key, "granularity": named, **span, **product}

    return History(
        endpoint,
        interval,
        API,
        f"/api/v2/{'spot' if spot else 'mix'}/market/history-candles",
        "spot_history" if spot else "perp_history",
        params,
        _opened,
        # At most 200 rows, and never more than 90 days
        # (https://www.bitget.com/api-doc/contract/market/Get-History-Candle-Data).
        most=90 if interval == "1d" else 200,
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
        "/api/v3/market/history-fund-rate",
        "settlements",
        lambda piece: {"category": category(piece.key), "symbol": piece.key, "limit": 100, "cursor": piece.page},
        lambda body: [int(row["fundingRateTimestamp"]) for row in body["data"]["resultList"]],
        most=100,
        order="pages",
        days=180,
        top=100,
    ),
    _bars("perp_bars", "1h", 100, 90),
    _bars("spot_bars", "1h", 50, 90),
)
