"""Simulated Bitget: its hosts, endpoints, and a rate limit per path."""

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.bitget import archive, streams
from sandbox.venues.bitget.history import History
from sandbox.venues.bitget.market import HOST, Bitget, failure
from sandbox.wire.endpoint import Endpoint, Response

_BY_DEFAULT = ("instruments", "tickers", "funding", "funding_history", "perp_candles", "perp_history", "spot_candles",
               "spot_history", "spot_books")  # fmt: skip


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the second is over."""
    return failure("429", "Too Many Requests", now_ms, status=429)


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Bitget; each path has a limit of its own."""
    now = Bitget(world)
    past = History(now)
    paths = {
        "/api/v3/market/instruments": (now.instruments, "bitget_instruments"),
        "/api/v3/market/tickers": (now.tickers, "bitget_tickers"),
        "/api/v3/market/current-fund-rate": (now.funding, "bitget_funding"),
        "/api/v3/market/history-fund-rate": (past.funding_history, "bitget_funding_history"),
        "/api/v3/market/index-components": (now.index_components, "bitget_index_components"),
        "/api/v2/mix/market/candles": (past.perp_candles, "bitget_perp_candles"),
        "/api/v2/mix/market/history-candles": (past.perp_history, "bitget_perp_history"),
        "/api/v2/spot/market/candles": (past.spot_candles, "bitget_spot_candles"),
        "/api/v2/spot/market/history-candles": (past.spot_history, "bitget_spot_history"),
        "/api/v2/spot/market/orderbook": (now.spot_book, "bitget_spot_books"),
        "/api/v2/mix/market/account-long-short": (past.account_ratio, "bitget_account_ratio"),
        "/api/v2/mix/market/taker-buy-sell": (past.taker_volume, "bitget_taker_volume"),
    }
    own = [Endpoint("bitget", HOST, path, handler, pool) for path, (handler, pool) in paths.items()]
    return [*own, *archive.endpoints(world)]


SIMULATED = SimulatedVenue(
    venue="bitget",
    hosts=(HOST, streams.HOST, archive.HOST),
    pools={f"bitget_{name}": Pool(20, 1000) for name in _BY_DEFAULT}
    | {
        "bitget_index_components": Pool(10, 1000),
        "bitget_account_ratio": Pool(1, 1000),
        "bitget_taker_volume": Pool(1, 1000),
        archive.POOL: Pool(100_000, 60_000),
    },
    endpoints=endpoints,
    refusal=refusal,
    sockets=streams.sockets,
    reply=streams.reply,
    topic=streams.topic,
    frames=streams.frames,
    liquidation_window_ms=streams.WINDOW_MS,
)
