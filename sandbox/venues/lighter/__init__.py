"""Simulated Lighter: its host, rate limits, endpoints and streams."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.venues.lighter import market, streams
from sandbox.wire.endpoint import Response, json_response


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the minute's requests have passed."""
    return json_response({"code": 23000, "message": "Too Many Requests!"}, 429)


SIMULATED = SimulatedVenue(
    venue="lighter",
    hosts=(market.HOST,),
    pools={"lighter": Pool(60, 60_000), streams.MESSAGES: Pool(200, 60_000)},
    endpoints=market.endpoints,
    refusal=refusal,
    sockets=streams.sockets,
    reply=streams.Channels(),
    topic=streams.topic,
    frames=streams.frames,
    liquidation_window_ms=0,
)
