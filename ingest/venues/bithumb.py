"""Bithumb: Korean spot, quoted in won."""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from ingest.declaration.endpoint import Ask, Bars, Body, Each, Endpoint, Keys, Pool, Venue

API = "api.bithumb.com"
COVERED = ("KRW-BTC", "KRW-ETH", "KRW-XRP", "KRW-SOL", "KRW-USDT", "KRW-USDC")
"""Markets whose bars are needed whatever their volume: premiums, and the won's price of the dollar tokens."""
STATUS = re.compile(r'^\s*\{\s*"status"\s*:\s*"(\d+)"')
ERROR = re.compile(r'^\s*\{\s*"error"\s*:')


def _others_traded(body: Body) -> Iterator[tuple[str, float]]:
    # Among the coins stands the answer's "date".
    coins = ((f"KRW-{coin}", row) for coin, row in body["data"].items() if coin != "date")
    return ((market, float(row["acc_trade_value_24H"])) for market, row in coins if market not in COVERED)


def _candles(ask: Ask) -> dict[str, Any]:
    return {"market": ask.key, "count": ask.bars}


def _fault(body: str) -> str | None:
    """Refusals come with status 200 too: a status other than "0000", or an error."""
    status = STATUS.match(body)
    if (status and status[1] != "0000") or ERROR.match(body):
        return f"refused: {orjson.loads(body)}"
    return None


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
        # All won markets in one answer is API 1.2 (https://apidocs.bithumb.com/v1.2.0/reference); /v1/ticker takes at
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
            each=Each(of=Keys("spot_tickers", _others_traded), always=COVERED, top=20),
        ),
    ),
    parallel=8,
)
