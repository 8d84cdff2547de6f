"""Gate's stand-in: its hosts, its limits (one per endpoint), and what it is made of."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.gate import contract as gate_contract
from sandbox.venues.gate import market as gate_market
from sandbox.venues.gate import streams as gate_streams
from sandbox.wire.wire import Answer, Endpoint, json_answer

_LIMIT, _WINDOW_MS = 200, 10_000


def refusal(use: Use, pool: Pool, now_ms: int) -> Answer:
    """429 until the window is over; nobody is banned."""
    text = f"Request Rate limit Exceeded ({pool.limit})"
    return json_answer({"label": "TOO_MANY_REQUESTS", "message": text}, 429)


def headers(pool: str, used: int) -> dict[str, str]:
    """What is left of the endpoint's limit."""
    return {"X-Gate-RateLimit-Limit": str(_LIMIT), "X-Gate-RateLimit-Requests-Remain": str(max(0, _LIMIT - used))}


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the venue."""
    return [*gate_market.endpoints(world), *gate_contract.endpoints(world)]


SIMULATED = SimulatedVenue(
    venue="gate",
    hosts=(gate_market.HOST, gate_streams.HOST),
    pools={name: Pool(_LIMIT, _WINDOW_MS) for name in (*gate_market.POOLS, *gate_contract.POOLS)},
    endpoints=endpoints,
    refusal=refusal,
    headers=headers,
    sockets=gate_streams.sockets,
    reply=gate_streams.reply,
    topic=gate_streams.topic,
    frames=gate_streams.frames,
    liquidation_window_ms=0,
)
