"""Simulated Binance: its hosts, rate limits and bans; the other files of this folder have its endpoints and streams."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.binance import archive, coin_margined, depth, market, options, statistics, streams
from sandbox.venues.binance.market import API, FAPI
from sandbox.wire.endpoint import Endpoint, Response, json_response

POOLS = {
    "binance_fapi": Pool(2400, 60_000),
    "binance_api": Pool(6000, 60_000),
    "binance_funding": Pool(500, 300_000),
    "binance_statistics": Pool(1000, 300_000),
    coin_margined.POOL: Pool(coin_margined.LIMIT, 60_000),
    "binance_archive": Pool(100_000, 60_000),
    options.POOL: Pool(options.LIMIT, 60_000),
}
_REQUESTS_TO_BAN = 20  # refused requests in one window until the address is banned
_FIRST_BAN_MS, _LONGEST_BAN_MS = 120_000, 3 * 86_400_000


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the window ends; 418 for an address that continues nevertheless, for a longer time with each ban."""
    if now_ms >= use.banned_until_ms and use.refused > _REQUESTS_TO_BAN:
        use.banned_until_ms = now_ms + min(_FIRST_BAN_MS << use.bans, _LONGEST_BAN_MS)
        use.bans += 1
    if now_ms < use.banned_until_ms:
        wait = -(-(use.banned_until_ms - now_ms) // 1000)
        text = f"Way too many requests; IP banned until {use.banned_until_ms}. "
        text += "Please use the websocket for live updates to avoid bans."
        return Response(json_response({"code": -1003, "msg": text}).body, 418, {"Retry-After": str(wait)})
    wait = max(1, -(-(pool.window_ms - now_ms % pool.window_ms) // 1000))
    text = f"Too many requests; current limit of IP is {pool.limit} requests per minute. "
    text += "Please use the websocket for live updates to avoid polling the API."
    return Response(json_response({"code": -1003, "msg": text}).body, 429, {"Retry-After": str(wait)})


def headers(pool: str, used: int) -> dict[str, str]:
    """The rate-limit header with the used weight; endpoints with a limit of their own do not have it."""
    return (
        {"X-MBX-USED-WEIGHT-1M": str(used)}
        if pool in ("binance_fapi", "binance_dapi", "binance_api", "binance_eapi")
        else {}
    )


def endpoints(world: World) -> list[Endpoint]:
    """All paths of the venue."""
    return [
        *market.endpoints(world),
        *statistics.endpoints(world),
        *depth.endpoints(world),
        *coin_margined.endpoints(world),
        *options.endpoints(world),
        *archive.endpoints(world),
    ]


SIMULATED = SimulatedVenue(
    venue="binance",
    hosts=(FAPI, coin_margined.DAPI, API, options.EAPI, "fstream.binance.com", archive.HOST, archive.BUCKET_HOST),
    pools=POOLS,
    endpoints=endpoints,
    refusal=refusal,
    headers=headers,
    sockets=streams.sockets,
    frames=streams.frames,
    liquidation_window_ms=streams.WINDOW_MS,
)
