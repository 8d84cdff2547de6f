"""Bybit's stand-in: its hosts, its limit with the ban, and what it is made of."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.bybit import market as bybit_market
from sandbox.venues.bybit import statistics as bybit_statistics
from sandbox.venues.bybit import streams as bybit_streams
from sandbox.venues.bybit.options import option_tickers
from sandbox.wire.wire import Answer, Endpoint, json_answer

_BAN_MS = 600_000


def refusal(use: Use, pool: Pool, now_ms: int) -> Answer:
    """403, and ten minutes without access."""
    use.banned_until_ms = max(use.banned_until_ms, now_ms + _BAN_MS)
    body = {"retCode": 10006, "retMsg": "Too many visits. Exceeded the API Rate Limit.", "result": {},
            "retExtInfo": {}, "time": now_ms}  # fmt: skip
    return json_answer(body, 403)


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the venue."""
    return bybit_market.endpoints(world, option_tickers) + bybit_statistics.endpoints(world)


SIMULATED = SimulatedVenue(
    venue="bybit",
    hosts=(bybit_market.HOST, bybit_streams.HOST),
    pools={"bybit": Pool(600, 5_000)},
    endpoints=endpoints,
    refusal=refusal,
    sockets=bybit_streams.sockets,
    reply=bybit_streams.reply,
    topic=bybit_streams.topic,
    frames=bybit_streams.frames,
    liquidation_window_ms=0,
)
