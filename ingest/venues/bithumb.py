"""Bithumb: Korean spot, quoted in won."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from ingest.declaration.endpoint import HOUR_MS, Bars, Body, Endpoint, FanOut, Keys, Pool, Request
from ingest.declaration.history import SAMPLE, History, Interval
from ingest.declaration.venue import Venue
from ingest.venues.upbit import COVERED, bar_times

API = "api.bithumb.com"
STATUS = re.compile(r'^\s*\{\s*"status"\s*:\s*"(\d+)"')
ERROR = re.compile(r'^\s*\{\s*"error"\s*:')


def _others_traded(body: Body) -> Iterator[tuple[str, float]]:
    # One of the keys beside the coins is "date".
    coins = ((f"KRW-{coin}", row) for coin, row in body["data"].items() if coin != "date")
    return ((market, float(row["acc_trade_value_24H"])) for market, row in coins if market not in COVERED)


def _candles(request: Request) -> dict[str, Any]:
    return {"market": request.key, "count": request.bars}


def _fault(body: str) -> str | None:
    """Refusals come with status 200 too: a status other than "0000", or an error."""
    status = STATUS.match(body)
    if (status and status[1] != "0000") or ERROR.match(body):
        return f"refused: {orjson.loads(body)}"
    return None


SEOUL_MS = 9 * HOUR_MS


def _seoul_time(ms: int) -> str:
    # `to` is read as a time of Seoul, whatever offset it names.
    return datetime.fromtimestamp((ms + SEOUL_MS) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _bar_history(interval: Interval, path: str, top: int, days: int, sample: int = SAMPLE) -> History:
    return History(
        "spot_bars",
        interval,
        API,
        path,
        "candle",
        lambda piece: {"market": piece.key, "to": _seoul_time(piece.end_ms), "count": piece.rows},
        bar_times,
        most=200,
        order="newest",
        days=days,
        top=top,
        sample=sample,
    )


BITHUMB = Venue(
    name="bithumb",
    pools=(
        # 150 requests a second per IP and category: tickers, candles, and the rest
        # (https://apidocs.bithumb.com/docs/api-요청-수-제한-안내). Far more than is needed, so far less is used.
        Pool("market", 20, 1),
        Pool("ticker", 20, 1, history=1),
        Pool("candle", 20, 1, history=4),
    ),
    fault=_fault,
    endpoints=(
        Endpoint("spot_instruments", API, "/v1/market/all", "market", {"isDetails": "true"}, every_s=3600),
        # All won markets in one response is API 1.2 (https://apidocs.bithumb.com/v1.2.0/reference); /v1/ticker takes at
        # most 200 named markets since 2026-10-13 (https://apidocs.bithumb.com/changelog).
        Endpoint("spot_tickers", API, "/public/ticker/ALL_KRW", "ticker"),
        # https://apidocs.bithumb.com/reference/분minute-캔들-조회: at most 200, newest first.
        Endpoint(
            "spot_bars",
            API,
            "/v1/candles/minutes/1",
            "candle",
            _candles,
            bars=Bars(most=200),
            fan_out=FanOut(of=Keys("spot_tickers", _others_traded), always=COVERED, top=20),
        ),
    ),
    history=(
        _bar_history("1m", "/v1/candles/minutes/1", 20, 1, 5),
        _bar_history("1d", "/v1/candles/days", 30, 400),
        _bar_history("1h", "/v1/candles/minutes/60", 6, 90, 2),
    ),
    parallel=8,
)
