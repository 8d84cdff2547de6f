"""Upbit: Korean spot, quoted in won. Requests must never carry an Origin header: it cuts the limit to 1 in 10 s."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Pool, Request
from ingest.declaration.history import SAMPLE, History, Interval
from ingest.declaration.venue import Venue

API = "api.upbit.com"
COVERED = ("KRW-BTC", "KRW-ETH", "KRW-XRP", "KRW-SOL", "KRW-USDT", "KRW-USDC")
"""Markets whose bars are needed whatever their volume: premiums, and the won's price of the dollar tokens."""


def _others_traded(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["market"], float(row["acc_trade_price_24h"])) for row in body if row["market"] not in COVERED)


def _candles(request: Request) -> dict[str, Any]:
    return {"market": request.key, "count": request.bars}


def bar_times(body: Body) -> list[int]:
    times = (datetime.fromisoformat(row["candle_date_time_utc"]).replace(tzinfo=UTC) for row in body)
    return [int(at.timestamp() * 1000) for at in times]


def utc(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _bar_history(interval: Interval, path: str, top: int, days: int, sample: int = SAMPLE) -> History:
    return History(
        "spot_bars",
        interval,
        API,
        path,
        "candle",
        # https://docs.upbit.com/kr/reference/list-candles-days: at most 200, newest first, before `to`.
        lambda piece: {"market": piece.key, "to": utc(piece.end_ms), "count": piece.rows},
        bar_times,
        most=200,
        order="newest",
        days=days,
        top=top,
        sample=sample,
    )


UPBIT = Venue(
    name="upbit",
    pools=(
        # 10 requests a second per IP and group (https://docs.upbit.com/kr/reference/rate-limits). A fifth is
        # reserved for other clients at the same address.
        Pool("market", 8, 1),
        Pool("ticker", 8, 1, history=1),
        Pool("candle", 8, 1, history=2),
    ),
    # A client that continues after 429 is blocked with 418; the response says for how long (same page).
    ban_s={418: 60},
    endpoints=(
        Endpoint("spot_instruments", API, "/v1/market/all", "market", {"is_details": "true"}, every_s=3600),
        # https://docs.upbit.com/kr/reference/list-quote-tickers
        Endpoint("spot_tickers", API, "/v1/ticker/all", "ticker", {"quote_currencies": "KRW"}),
        # https://docs.upbit.com/kr/reference/list-candles-minutes: at most 200, newest first.
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
