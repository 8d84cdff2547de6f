"""The declaration of a simulated venue: all that the server knows of a venue is in its `SimulatedVenue`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanic import Sanic

from sandbox.derived.wallets import Wallets
from sandbox.http.limits import Pool, Use
from sandbox.http.streams import Frame, Reply
from sandbox.market.world import World
from sandbox.wire.endpoint import Endpoint, Response

if TYPE_CHECKING:  # the server's state holds the simulated venues
    from sandbox.http.dispatch import Sandbox

App = Sanic[Any, Any]


def no_headers(pool: str, used: int) -> dict[str, str]:
    """For a venue without rate-limit headers."""
    return {}


@dataclass(frozen=True)
class SimulatedVenue:
    """One venue as it is served.

    hosts     all hosts, HTTP and WebSocket; paths are served at `/<host><path>`
    pools     its rate limits; the names are unique over all venues: "<venue>" or "<venue>_<what>"
    refusal   (use of that address, the pool, now ms) → the response above the limit; it bans the address by setting
              `use.banned_until_ms`
    headers   (name of the pool, used weight) → the venue's rate-limit headers
    sockets   adds the WebSocket routes; `sockets.add_socket` suffices where topics are subscribed to by message
    reply     the venue's reply to a message over the WebSocket, by which topics are subscribed to; None: the path
              alone subscribes
    topic     the topic of a recorded frame (a JSON object): a replay sends what is subscribed to; None: all of it
    frames    (world, minute) → the frames that the WebSocket sends of this minute's liquidations
              (`streams.liquidations_of`); a frame is due within the minute or at most a minute after its end
    liquidation_window_ms
              which liquidations the venue publishes: None: none at all; 0: all; n: of one market only the latest in
              each window of n ms. `/_sandbox/truth` marks them accordingly.
    holders   the wallets behind the open positions, where the venue shows them; its liquidations are then theirs
    """

    venue: str
    hosts: tuple[str, ...]
    pools: Mapping[str, Pool]
    endpoints: Callable[[World], list[Endpoint]]
    refusal: Callable[[Use, Pool, int], Response]
    headers: Callable[[str, int], dict[str, str]] = no_headers
    sockets: "Callable[[App, Sandbox], None] | None" = None
    reply: Reply | None = None
    topic: Callable[[dict[str, Any]], str | None] | None = None
    frames: Callable[[World, int], list[Frame]] | None = None
    liquidation_window_ms: int | None = None
    holders: Callable[[World], Wallets] | None = None
