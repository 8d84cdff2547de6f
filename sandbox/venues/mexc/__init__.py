"""Simulated MEXC: its host, rate limits and endpoints. It publishes no liquidations."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.mexc.contract import Contracts, failure
from sandbox.venues.mexc.spot import Spot
from sandbox.wire.endpoint import Endpoint, Response, json_response

HOST = "api.mexc.com"
_SPOT_WEIGHT = 300


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 on spot; the contract API says so in a response of status 200."""
    if pool.limit == _SPOT_WEIGHT:
        return json_response({"code": 429, "msg": "Too Many Requests"}, 429)
    return failure(510, "Requests are too frequent, please try again later")


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of MEXC: each contract path has a limit of its own, spot paths share a weight."""
    perps, spot = Contracts(world), Spot(world)
    return [
        Endpoint("mexc", HOST, "/api/v1/contract/ticker", perps.ticker, "mexc_ticker"),
        Endpoint("mexc", HOST, "/api/v1/contract/funding_rate", perps.funding, "mexc_funding"),
        Endpoint("mexc", HOST, "/api/v1/contract/funding_rate/history", perps.funding_history, "mexc_settlements"),
        Endpoint("mexc", HOST, "/api/v1/contract/kline/<symbol:str>", perps.kline, "mexc_kline"),
        Endpoint("mexc", HOST, "/api/v1/contract/detail", perps.detail, "mexc_detail"),
        Endpoint("mexc", HOST, "/api/v3/ticker/24hr", spot.tickers, "mexc_spot", 40),
        Endpoint("mexc", HOST, "/api/v3/exchangeInfo", spot.exchange_info, "mexc_spot", 10),
        Endpoint("mexc", HOST, "/api/v3/depth", spot.depth, "mexc_spot"),
        Endpoint("mexc", HOST, "/api/v3/klines", spot.klines, "mexc_spot"),
    ]


SIMULATED = SimulatedVenue(
    venue="mexc",
    hosts=(HOST,),
    pools={f"mexc_{name}": Pool(20, 2000) for name in ("ticker", "funding", "settlements", "kline")}
    | {"mexc_detail": Pool(1, 5000), "mexc_spot": Pool(_SPOT_WEIGHT, 10_000)},
    endpoints=endpoints,
    refusal=refusal,
)
