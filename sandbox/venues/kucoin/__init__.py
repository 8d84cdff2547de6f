"""Simulated KuCoin: its hosts, rate limit and endpoints. It publishes no liquidations."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.kucoin import archive, futures, open_interest, spot
from sandbox.wire.endpoint import Endpoint, Response, json_response

_PUBLIC = Pool(2000, 30_000)  # futures and spot together


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the window is over."""
    text = "Too many requests in a short period of time, please retry later"
    response = json_response({"code": "429000", "msg": text}, 429)
    left_ms = pool.window_ms - now_ms % pool.window_ms
    return Response(response.body, 429, {"gw-ratelimit-remaining": "0", "gw-ratelimit-reset": str(left_ms)})


def headers(pool: str, used: int) -> dict[str, str]:
    """The rate-limit headers: what remains of the pool."""
    limit = _PUBLIC.limit
    return {"gw-ratelimit-limit": str(limit), "gw-ratelimit-remaining": str(max(0, limit - used))}


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the venue."""
    return [
        *futures.endpoints(world),
        *open_interest.endpoints(world),
        *spot.endpoints(world),
        *archive.endpoints(world),
    ]


SIMULATED = SimulatedVenue(
    venue="kucoin",
    hosts=(futures.HOST, spot.HOST, archive.HOST),
    pools={futures.POOL: _PUBLIC, archive.POOL: Pool(100_000, 60_000)},
    endpoints=endpoints,
    refusal=refusal,
    headers=headers,
)
