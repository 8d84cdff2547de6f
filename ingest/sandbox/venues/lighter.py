"""Lighter's stand-in: its host, its limits, and what it is made of."""

from ingest.sandbox.limits import Pool, Use
from ingest.sandbox.listings.lighter import listings
from ingest.sandbox.standin import StandIn
from ingest.sandbox.venues import lighter_market, lighter_streams
from ingest.sandbox.wire import Answer, json_answer


def refusal(use: Use, pool: Pool, now_ms: int) -> Answer:
    """429 until the minute's requests have passed."""
    return json_answer({"code": 23000, "message": "Too Many Requests!"}, 429)


STAND_IN = StandIn(
    venue="lighter",
    hosts=(lighter_market.HOST,),
    pools={"lighter": Pool(60, 60_000), lighter_streams.MESSAGES: Pool(200, 60_000)},
    listings=listings,
    endpoints=lighter_market.endpoints,
    refusal=refusal,
    sockets=lighter_streams.sockets,
    reply=lighter_streams.Channels(),
    topic=lighter_streams.topic,
    frames=lighter_streams.frames,
    liquidation_window_ms=0,
)
