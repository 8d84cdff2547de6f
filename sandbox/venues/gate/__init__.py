"""Simulated Gate: its hosts, its rate limits (one per endpoint), and its endpoints."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.gate import archive, contract, market, streams
from sandbox.wire.endpoint import Endpoint, Response, json_response

_LIMIT, _WINDOW_MS = 200, 10_000


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the window is over; no address is banned."""
    text = f"Request Rate limit Exceeded ({pool.limit})"
    return json_response({"label": "TOO_MANY_REQUESTS", "message": text}, 429)


def headers(pool: str, used: int) -> dict[str, str]:
    """The rate-limit headers: what remains of the endpoint's limit."""
    return {"X-Gate-RateLimit-Limit": str(_LIMIT), "X-Gate-RateLimit-Requests-Remain": str(max(0, _LIMIT - used))}


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the venue."""
    return [*market.endpoints(world), *contract.endpoints(world), *archive.endpoints(world)]


SIMULATED = SimulatedVenue(
    venue="gate",
    hosts=(market.HOST, streams.HOST, archive.HOST, archive.BUCKET_HOST),
    pools={name: Pool(_LIMIT, _WINDOW_MS) for name in (*market.POOLS, *contract.POOLS)}
    | {archive.POOL: Pool(100_000, 60_000)},
    endpoints=endpoints,
    refusal=refusal,
    headers=headers,
    sockets=streams.sockets,
    reply=streams.reply,
    topic=streams.topic,
    frames=streams.frames,
    liquidation_window_ms=0,
)
