"""Simulated Bithumb: Upbit's wire format with times of Seoul, and the ticker of all coins of the older API."""

from typing import Any

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.wire import won_candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import trimmed
from sandbox.wire.won_market import SEOUL_MS, WonMarkets, failure

HOST = "api.bithumb.com"
GROUPS = ("market", "ticker", "candle")
MOST_MARKETS = 200


class Bithumb:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.won = WonMarkets(world, "bithumb", SEOUL_MS, whole=True)

    def markets(self, request: Request) -> Response:
        """GET /v1/market/all."""
        return json_response(self.won.markets(request.now_ms, request.query.get("isDetails", "").lower() == "true"))

    def tickers(self, request: Request) -> Response:
        """GET /v1/ticker."""
        markets = [market.strip().upper() for market in request.query.get("markets", "").split(",") if market.strip()]
        if not markets:
            return failure(400, "Missing request parameter error. Check the required parameters!")
        if len(markets) > MOST_MARKETS:
            return failure(400, f"Parameter 'markets' must be less than or equal to {MOST_MARKETS} items.", "400")
        listed = set(self.won.listed(request.now_ms))
        rows = [self.won.by_symbol.get(market, -1) for market in markets]
        if not listed.issuperset(rows):
            return failure(404, "Code not found")
        return json_response(self.won.tickers(rows, request.now_ms))

    def all_tickers(self, request: Request) -> Response:
        """GET /public/ticker/ALL_KRW of API 1.2: one object per coin, with numbers as text, and the date."""
        world, rows = self.won.world, self.won.listed(request.now_ms)
        state, last, day = (
            world.minute(request.now_ms // 60_000),
            world.last(request.now_ms),
            self.won.today(request.now_ms),
        )
        at = {int(row): n for n, row in enumerate(self.won.rows)}
        data: dict[str, Any] = {}
        for row in rows:
            n, one, now, then = at[row], world.universe.listings[row], float(last[row]), float(state.price_24h[row])
            text = one.decimals
            data[one.base_raw] = {
                "opening_price": trimmed(day.opened[n], text), "closing_price": trimmed(now, text),
                "min_price": trimmed(min(float(day.low[n]), now), text),
                "max_price": trimmed(max(float(day.high[n]), now), text),
                "units_traded": trimmed(day.base[n], 8), "acc_trade_value": trimmed(day.quote[n], 4),
                "prev_closing_price": trimmed(day.closed_before[n], text),
                "units_traded_24H": trimmed(state.base_24h[row], 8),
                "acc_trade_value_24H": trimmed(state.quote_24h[row], 4),
                "fluctate_24H": trimmed(now - then, text), "fluctate_rate_24H": f"{(now / then - 1) * 100:.2f}",
            }  # fmt: skip
        data["date"] = str(request.now_ms)
        return json_response({"status": "0000", "data": data})

    def minutes(self, request: Request) -> Response:
        """GET /v1/candles/minutes/{unit}."""
        return won_candles.minutes(self.won, request)

    def days(self, request: Request) -> Response:
        """GET /v1/candles/days."""
        return won_candles.days(self.won, request)


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Bithumb."""
    bithumb = Bithumb(world)
    return [
        Endpoint("bithumb", HOST, "/v1/market/all", bithumb.markets, "bithumb_market"),
        Endpoint("bithumb", HOST, "/v1/ticker", bithumb.tickers, "bithumb_ticker"),
        Endpoint("bithumb", HOST, "/public/ticker/ALL_KRW", bithumb.all_tickers, "bithumb_ticker"),
        Endpoint("bithumb", HOST, "/v1/candles/minutes/<unit:str>", bithumb.minutes, "bithumb_candle"),
        Endpoint("bithumb", HOST, "/v1/candles/days", bithumb.days, "bithumb_candle"),
    ]


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the second is over."""
    return failure(429, "Too many API requests.", "too_many_requests")


SIMULATED = SimulatedVenue(
    venue="bithumb",
    hosts=(HOST,),
    pools={f"bithumb_{group}": Pool(150, 1_000) for group in GROUPS},
    endpoints=endpoints,
    refusal=refusal,
)
