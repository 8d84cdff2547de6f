"""The words in which a venue is declared: pools, endpoints, the keys an endpoint fans out over, streams, the venue."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.declaration.reduction import Reduction

Body = Any
"""A parsed JSON body."""


@dataclass(frozen=True)
class Ask:
    """What a parameter function may look at: the key, the minute, and how many bars are missing up to now."""

    key: str
    tick_ms: int
    bars: int


Params = Mapping[str, Any] | Callable[[Ask], Mapping[str, Any]]


@dataclass(frozen=True)
class Pool:
    """A rate limit of a venue: at most `limit` of weight in any `window_s` seconds.

    `history` of it belongs to the fetching of the past, a process of its own, and the rest to the recorder: together
    they keep the limit without knowing of each other.
    """

    name: str
    limit: int
    window_s: float
    history: int = 0


@dataclass(frozen=True)
class Keys:
    """Where keys come from: the newest good bodies of another endpoint of the venue, read by `read`.

    `read` gives (key, rank) pairs; a greater rank (24 h volume) is asked first. The rank is multiplied with that of the
    same key in `times`, where a venue publishes the factors in two bodies (contracts held, and their price).
    """

    endpoint: str
    read: Callable[[Body], Iterable[tuple[str, float]]]
    times: "Keys | None" = None


@dataclass(frozen=True)
class Each:
    """Fan-out: one request per key of `of`, best rank first.

    of       None: only the keys of `always`
    within   only keys that this source has too (if it has been read)
    without  no key that this source has
    always   keys that are asked even when no source is known
    top      each time only this many, by rank; None = all
    rest_s   the others once in this time, spread over it, the longest unasked first; None = never
    """

    of: Keys | None = None
    within: Keys | None = None
    without: Keys | None = None
    always: tuple[str, ...] = ()
    top: int | None = None
    rest_s: int | None = None


@dataclass(frozen=True)
class Bars:
    """Closed one-minute bars: ask the newest `usual`, and up to `most` to catch up after a start or a failure."""

    usual: int = 3
    most: int = 99


@dataclass(frozen=True)
class Endpoint:
    """One kind of request. `params` is the query of a GET and the JSON body of a POST; `{key}` in the path is the key.

    `next_page` reads a page and returns the parameters of the next one, or None after the last; the key is then the
    page's number. `reduce` begins a declared reduction of a good answer that is too large to keep.
    """

    name: str
    host: str
    path: str
    pool: str
    params: Params = field(default_factory=dict)
    method: str = "GET"
    every_s: int = 60
    weight: int | Callable[[Ask], int] = 1
    each: Each | None = None
    bars: Bars | None = None
    next_page: Callable[[Body], Mapping[str, Any] | None] | None = None
    timeout_s: float = 10.0
    reduce: Callable[[], Reduction] | None = None


@dataclass(frozen=True)
class Stream:
    """A WebSocket that is always connected.

    topics      keys that are subscribed to, followed as they change; None = the path alone subscribes
    subscribe   the messages for some topics and the operation ("subscribe" or "unsubscribe")
    heartbeat   a message the venue wants every `heartbeat_s`; None = WebSocket pings are sent instead
    skip        true for a frame that is no data (an answer to a heartbeat)
    refused     the reason if the frame refuses a subscription
    silence_s   without any frame for this long the connection is taken for dead
    life_s      reconnect before the venue ends the connection
    connections  the topics are shared out over so many connections
    topics_each  most topics of one connection
    topics_per_s  most topics that a connection subscribes to in a second; None = all at once. It counts as listening
                when all were asked for
    """

    name: str
    host: str
    path: str
    topics: Keys | None = None
    subscribe: Callable[[str, list[str]], list[str]] | None = None
    heartbeat: str | None = None
    heartbeat_s: float = 20.0
    skip: Callable[[str], bool] | None = None
    refused: Callable[[str], str | None] | None = None
    silence_s: float = 600.0
    life_s: float = 23.5 * 3600
    connections: int = 1
    topics_each: int | None = None
    topics_per_s: int | None = None


@dataclass(frozen=True)
class Venue:
    """A venue: its limits, what is asked and what is listened to.

    ban_s   HTTP status → how long to stay away from the host when the answer does not say
    fault   the venue's own error inside an answer of status 200, or None
    parallel  requests under way at once
    headers   what the venue wants to be told with every request and connection
    """

    name: str
    pools: tuple[Pool, ...]
    endpoints: tuple[Endpoint, ...]
    streams: tuple[Stream, ...] = ()
    ban_s: Mapping[int, float] = field(default_factory=dict)
    fault: Callable[[str], str | None] | None = None
    parallel: int = 16
    headers: Mapping[str, str] = field(default_factory=dict)


def address(host: str, path: str, venues_url: str | None, *, websocket: bool = False) -> str:
    """The URL of a path at a venue's host: the exchange itself, or behind the prefix of its stand-in."""
    if venues_url is None:
        return f"{'wss' if websocket else 'https'}://{host}{path}"
    prefix = venues_url.rstrip("/")
    if websocket:
        prefix = "ws" + prefix.removeprefix("http")
    return f"{prefix}/{host}{path}"
