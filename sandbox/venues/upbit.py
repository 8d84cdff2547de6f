"""Simulated Upbit: markets, tickers and candles, ten requests a second in each group."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.wire import won_candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.won_market import WonMarkets, failure

HOST = "api.upbit.com"
GROUPS = ("market", "ticker", "candle")
_LIMIT, _REFUSED_TO_BAN, _BAN_MS = 10, 20, 60_000


class Upbit:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.won = WonMarkets(world, "upbit", 0, whole=False)

    def markets(self, request: Request) -> Response:
        """GET /v1/market/all."""
        details = (request.query.get("is_details") or request.query.get("isDetails") or "").lower() == "true"
        return json_response(self.won.markets(request.now_ms, details))

    def all_tickers(self, request: Request) -> Response:
        """GET /v1/ticker/all; there are markets in won alone."""
        quotes = request.query.get("quote_currencies") or request.query.get("quoteCurrencies")
        if not quotes:
            return failure(400, "Missing request parameter error. Check the required parameters!")
        rows = self.won.listed(request.now_ms) if "KRW" in quotes.upper().split(",") else []
        return json_response(self.won.tickers(rows, request.now_ms))

    def tickers(self, request: Request) -> Response:
        """GET /v1/ticker."""
        markets = [market.strip().upper() for market in request.query.get("markets", "").split(",") if market.strip()]
        if not markets:
            return failure(400, "Missing request parameter error. Check the required parameters!")
        listed = set(self.won.listed(request.now_ms))
        rows = [self.won.by_symbol.get(market, -1) for market in markets]
        if not listed.issuperset(rows):
            return failure(404, "Code not found")
        return json_response(self.won.tickers(rows, request.now_ms))

    def minutes(self, request: Request) -> Response:
        """GET /v1/candles/minutes/{unit}."""
        return won_candles.minutes(self.won, request)

    def days(self, request: Request) -> Response:
        """GET /v1/candles/days."""
        return won_candles.days(self.won, request)


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Upbit."""
    upbit = Upbit(world)
    return [
        Endpoint("upbit", HOST, "/v1/market/all", upbit.markets, "upbit_market"),
        Endpoint("upbit", HOST, "/v1/ticker/all", upbit.all_tickers, "upbit_ticker"),
        Endpoint("upbit", HOST, "/v1/ticker", upbit.tickers, "upbit_ticker"),
        Endpoint("upbit", HOST, "/v1/candles/minutes/<unit:str>", upbit.minutes, "upbit_candle"),
        Endpoint("upbit", HOST, "/v1/candles/days", upbit.days, "upbit_candle"),
    ]


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429; a client that continues gets 418 and a time without access."""
    if now_ms >= use.banned_until_ms and use.refused > _REFUSED_TO_BAN:
        use.banned_until_ms = now_ms + _BAN_MS
    if now_ms < use.banned_until_ms:
        wait_s = -(-(use.banned_until_ms - now_ms) // 1000)
        response = failure(418, f"Blocked for {wait_s} seconds by too many requests.", "too_many_requests")
        return Response(response.body, 418, {"Retry-After": str(wait_s)})
    return failure(429, "Too many API requests.", "too_many_requests")


def headers(pool: str, used: int) -> dict[str, str]:
    """What is left of the second; the figure of the minute no longer means anything."""
    return {"Remaining-Req": f"group={pool.removeprefix('upbit_')}; min=600; sec={max(0, _LIMIT - used)}"}


SIMULATED = SimulatedVenue(
    venue="upbit",
    hosts=(HOST,),
    pools={f"upbit_{group}": Pool(_LIMIT, 1_000) for group in GROUPS},
    endpoints=endpoints,
    refusal=refusal,
    headers=headers,
)
