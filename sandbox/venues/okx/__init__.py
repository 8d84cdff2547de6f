"""Simulated OKX: its hosts, endpoints, and a rate limit per path."""

from collections.abc import Callable

from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.world import World
from sandbox.venues.okx import archive, derivatives, statistics, streams
from sandbox.venues.okx.derivatives import OkxDerivatives
from sandbox.venues.okx.market import HOST, Okx, failure
from sandbox.venues.okx.options import OkxOptions
from sandbox.wire.endpoint import Endpoint, Request, Response

Handler = Callable[[Request], Response]
# Requests in two seconds (https://www.okx.com/docs-v5/en/).
_LIMITS = {
    "instruments": 20, "tickers": 20, "candles": 40, "history_candles": 20, "books": 40, "funding": 10,
    "funding_history": 10, "open_interest": 20, "mark_price": 10, "index_tickers": 20, "index_components": 20,
    "opt_summary": 20, "accounts": 5, "top_accounts": 5, "top_positions": 5, "taker_volume": 5,
    "open_interest_history": 10,
}  # fmt: skip


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the two seconds are over."""
    return failure("50011", "Too Many Requests", 429)


def _by_kind(options: Handler, others: Handler) -> Handler:
    return lambda request: (options if request.query.get("instType") == "OPTION" else others)(request)


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of OKX."""
    market, options = Okx(world), OkxOptions(world)
    swaps = OkxDerivatives(market)
    paths: dict[str, tuple[Handler, str]] = (
        derivatives.handlers(swaps)
        | statistics.handlers(market)
        | {
            "/api/v5/public/instruments": (_by_kind(options.instruments, market.instruments), "instruments"),
            "/api/v5/public/open-interest": (_by_kind(options.open_interest, swaps.open_interest), "open_interest"),
            "/api/v5/public/opt-summary": (options.summary, "opt_summary"),
            "/api/v5/market/tickers": (_by_kind(options.tickers, market.tickers), "tickers"),
            "/api/v5/market/candles": (market.candles, "candles"),
            "/api/v5/market/history-candles": (market.history_candles, "history_candles"),
            "/api/v5/market/books": (market.books, "books"),
        }
    )
    own = [Endpoint("okx", HOST, path, handler, f"okx_{pool}") for path, (handler, pool) in paths.items()]
    return [*own, *archive.endpoints(world)]


SIMULATED = SimulatedVenue(
    venue="okx",
    hosts=(HOST, streams.HOST, archive.HOST),
    pools={f"okx_{name}": Pool(limit, 2000) for name, limit in _LIMITS.items()} | {archive.POOL: Pool(100_000, 60_000)},
    endpoints=endpoints,
    refusal=refusal,
    sockets=streams.sockets,
    reply=streams.reply,
    topic=streams.topic,
    frames=streams.frames,
    liquidation_window_ms=streams.WINDOW_MS,
)
