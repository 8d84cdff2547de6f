"""Lighter's stand-in: its host, its limits, and what it is made of."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.venues.lighter import market as lighter_market
from sandbox.venues.lighter import streams as lighter_streams
from sandbox.wire.wire import Answer, json_answer


def refusal(use: Use, pool: Pool, now_ms: int) -> Answer:
    """429 until the minute's requests have passed."""
    return json_answer({"code": 23000, "message": "Too Many Requests!"}, 429)


SIMULATED = SimulatedVenue(
    venue="lighter",
    hosts=(lighter_market.HOST,),
    pools={"lighter": Pool(60, 60_000), lighter_streams.MESSAGES: Pool(200, 60_000)},
    endpoints=lighter_market.endpoints,
    refusal=refusal,
    sockets=lighter_streams.sockets,
    reply=lighter_streams.Channels(),
    topic=lighter_streams.topic,
    frames=lighter_streams.frames,
    liquidation_window_ms=0,
)
