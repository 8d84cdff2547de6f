"""Simulated Bybit: its hosts, its rate limit and ban; the other files of this folder have its endpoints and streams."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.bybit import market, statistics, streams
from sandbox.venues.bybit.options import option_tickers
from sandbox.wire.endpoint import Endpoint, Response, json_response

_BAN_MS = 600_000


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """403, and a ban of ten minutes."""
    use.banned_until_ms = max(use.banned_until_ms, now_ms + _BAN_MS)
    body = {"retCode": 10006, "retMsg": "Too many visits. Exceeded the API Rate Limit.", "result": {},
            "retExtInfo": {}, "time": now_ms}  # fmt: skip
    return json_response(body, 403)


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the venue."""
    return market.endpoints(world, option_tickers) + statistics.endpoints(world)


SIMULATED = SimulatedVenue(
    venue="bybit",
    hosts=(market.HOST, streams.HOST),
    pools={"bybit": Pool(600, 5_000)},
    endpoints=endpoints,
    refusal=refusal,
    sockets=streams.sockets,
    reply=streams.reply,
    topic=streams.topic,
    frames=streams.frames,
    liquidation_window_ms=0,
)
