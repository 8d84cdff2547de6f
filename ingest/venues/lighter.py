"""Lighter: perpetuals and spot. Markets are requested by number; a key is `<market_id>:<symbol>`."""

from collections.abc import Iterator
from typing import Any

import orjson

from ingest.declaration.endpoint import MINUTE_MS, Bars, Body, Endpoint, FanOut, Keys, Pool, Request, Stream
from ingest.declaration.history import History, Interval, Piece
from ingest.declaration.venue import Venue

API = "mainnet.zklighter.elliot.ai"
HOUR = 3600


def _active(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    return (
        (f"{row['market_id']}:{row['symbol']}", float(row["daily_quote_token_volume"]))
        for row in rows
        if row["status"] == "active"
    )


def _perps(body: Body) -> Iterator[tuple[str, float]]:
    return _active(body["order_book_details"])


def _spot(body: Body) -> Iterator[tuple[str, float]]:
    return _active(body.get("spot_order_book_details") or [])


def _market(key: str) -> int:
    return int(key.partition(":")[0])


def _candles(request: Request) -> dict[str, Any]:
    span = {"start_timestamp": request.tick_ms - request.bars * MINUTE_MS, "end_timestamp": request.tick_ms}
    return {"market_id": _market(request.key), "resolution": "1m", **span, "count_back": request.bars}


def _fundings(request: Request) -> dict[str, Any]:
    # Seconds here. Twelve hours, so that no settlement is missed when a request, every fourth hour, is late.
    second = request.tick_ms // 1000
    span = {"start_timestamp": second - 12 * HOUR, "end_timestamp": second, "count_back": 0}
    return {"market_id": _market(request.key), "resolution": "1h", **span}


def _fault(body: str) -> str | None:
    """Lighter repeats its outcome in the body: code 200 is success."""
    # The head only: market bodies are long, and code comes first.
    head = body[:60].replace(" ", "")
    if '"code":200' in head or '"code"' not in head:
        return None
    return f"refused: {body[:200]}"


def _subscribe(operation: str, keys: list[str]) -> list[str]:
    return [orjson.dumps({"type": operation, "channel": f"trade/{_market(key)}"}).decode() for key in keys]


def _no_data(frame: str) -> bool:
    """The welcome message, replies to pings, and trades without a liquidation: tens of frames a second."""
    head = frame[:200]
    if '"update/trade"' in frame:
        return '"liquidation_trades":[{' not in frame.replace(" ", "")
    return '"connected"' in head or '"pong"' in head or '"ping"' in head


def _refused(frame: str) -> str | None:
    return f"subscription refused: {frame[:200]}" if frame[:30].replace(" ", "").startswith('{"error"') else None


PERPS = Keys("perp_tickers", _perps)


def _bar_history(endpoint: str, interval: Interval, top: int, days: int) -> History:
    def params(piece: Piece) -> dict[str, Any]:
        span = {"start_timestamp": piece.begin_ms, "end_timestamp": piece.end_ms - 1, "count_back": piece.rows}
        return {"market_id": _market(piece.key), "resolution": interval, **span}

    def opened(body: Body) -> list[int]:
        return [row["t"] for row in body["c"] or []]

    return History(
        endpoint,
        interval,
        API,
        "/api/v1/candles",
        "ip",
        params,
        opened,
        most=500,
        order="span",
        days=days,
        top=top,
        # The backfill has four requests a minute, too few for more in a demo.
        sample=2 if interval == "1d" and endpoint == "perp_bars" else 0,
    )


LIGHTER = Venue(
    name="lighter",
    # 60 requests in any minute per IP without an account (https://apidocs.lighter.xyz/docs/rate-limits). Two bulk
    # requests, 40 + 5 candles and every fifth minute 5 fundings make 52; the rest is for
    # retries.
    pools=(Pool("ip", 56, 60, history=4),),
    fault=_fault,
    endpoints=(
        # One body: perps and spot pairs, their instruments, tickers and open interest.
        Endpoint("perp_tickers", API, "/api/v1/orderBookDetails", "ip"),
        Endpoint("funding", API, "/api/v1/funding-rates", "ip"),
        Endpoint(
            "perp_bars",
            API,
            "/api/v1/candles",
            "ip",
            _candles,
            bars=Bars(most=200),
            fan_out=FanOut(of=PERPS, top=40, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            API,
            "/api/v1/candles",
            "ip",
            _candles,
            bars=Bars(most=200),
            fan_out=FanOut(of=Keys("perp_tickers", _spot), top=1, rest_s=HOUR),
        ),
        # Each market settles every hour, and is requested once in four hours.
        Endpoint(
            "settlements",
            API,
            "/api/v1/fundings",
            "ip",
            _fundings,
            every_s=300,
            fan_out=FanOut(of=PERPS, top=0, rest_s=4 * HOUR),
        ),
    ),
    streams=(
        # https://apidocs.lighter.xyz/docs/rate-limits: 100 subscriptions per connection, 200 messages a minute from one
        # IP, at most 50 of them unanswered: three connections of one subscription a second each stay within. A frame
        # of ours is due every two minutes (https://apidocs.lighter.xyz/docs/websocket-reference).
        Stream(
            "liquidations",
            API,
            "/stream?readonly=true",
            topics=PERPS,
            subscribe=_subscribe,
            connections=3,
            topics_each=100,
            topics_per_s=1,
            heartbeat='{"type":"ping"}',
            heartbeat_s=50,
            skip=_no_data,
            refused=_refused,
            silence_s=120,
        ),
    ),
    history=(
        # Three requests a market, of four a minute.
        _bar_history("perp_bars", "1m", 5, 1),
        _bar_history("perp_bars", "1d", 200, 400),
        History(
            "settlements",
            None,
            API,
            "/api/v1/fundings",
            "ip",
            # Seconds.
            lambda piece: {
                "market_id": _market(piece.key),
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
        _bar_history("perp_bars", "1h", 10, 90),
        _bar_history("spot_bars", "1d", 5, 400),
    ),
)
