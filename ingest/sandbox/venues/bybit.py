"""Bybit's stand-in: its hosts, its limit with the ban, and what it is made of."""

from ingest.sandbox.limits import Pool, Use
from ingest.sandbox.listings.bybit import listings
from ingest.sandbox.standin import StandIn
from ingest.sandbox.venues import bybit_market, bybit_statistics, bybit_streams
from ingest.sandbox.venues.bybit_options import option_tickers
from ingest.sandbox.wire import Answer, Endpoint, json_answer
from ingest.sandbox.world import World

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


STAND_IN = StandIn(
    venue="bybit",
    hosts=(bybit_market.HOST, bybit_streams.HOST),
    pools={"bybit": Pool(600, 5_000)},
    listings=listings,
    endpoints=endpoints,
    refusal=refusal,
    sockets=bybit_streams.sockets,
    reply=bybit_streams.reply,
    topic=bybit_streams.topic,
    frames=bybit_streams.frames,
    liquidation_window_ms=0,
)
