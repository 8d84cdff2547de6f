"""What is requested of a venue now: rate limits, endpoints, the keys that an endpoint fans out over, and streams."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.declaration.reduction import Reduction

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
Body = Any
"""A parsed JSON body."""


@dataclass(frozen=True)
class Request:
    """One request of an endpoint in one minute; an endpoint's `params` and `weight` may depend on it.

    key      the symbol (or other key) that it is for; "" where the endpoint has no keys
    tick_ms  start of the minute, UTC epoch ms
    bars     how many one-minute bars are missing up to now; 0 where the endpoint has no bars
    """

    key: str
    tick_ms: int
    bars: int


Params = Mapping[str, Any] | Callable[[Request], Mapping[str, Any]]


@dataclass(frozen=True)
class Pool:
    """A rate limit of a venue: at most `limit` of weight in any `window_s` seconds.

    `history` of it is reserved for the backfill, which is a process of its own, and the rest is the recorder's: so the
    two keep the limit together without communicating.
    """

    name: str
    limit: int
    window_s: float
    history: int = 0


@dataclass(frozen=True)
class Keys:
    """A source of keys: the newest good bodies of another endpoint of the venue, read by `read`.

    `read` gives (key, rank) pairs; keys of higher rank (such as 24 h volume) are requested first. With `times` the rank
    is multiplied by the same key's rank in that source, where a venue publishes the two factors in two bodies (open
    contracts, and their price).
    """

    endpoint: str
    read: Callable[[Body], Iterable[tuple[str, float]]]
    times: "Keys | None" = None


@dataclass(frozen=True)
class FanOut:
    """One request per key of `of`, highest rank first.

    of       where the keys come from; None: only those of `always`
    within   only keys that this source also has (once it has been read)
    without  no key that this source has
    always   keys that are requested even before any source is known
    top      only so many keys each time, by rank; None = all
    rest_s   every other key once in this many seconds, spread evenly, the longest unrequested first; None = never
    """

    of: Keys | None = None
    within: Keys | None = None
    without: Keys | None = None
    always: tuple[str, ...] = ()
    top: int | None = None
    rest_s: int | None = None


@dataclass(frozen=True)
class Bars:
    """One-minute bars per request: the newest `usual`, up to `most` to catch up after a start or a failure, and the
    newest `first` of a key that was never answered: enough for an hour's change, and for what was listed a moment ago.
    What is older comes from the history endpoints in its own time: with `most` of every market a new installation's
    first builds had half a million rows and took 27 to 44 s."""

    usual: int = 3
    most: int = 99
    first: int = 99


@dataclass(frozen=True)
class Place:
    """Where a request goes: the host, the path, and the rate limit that it counts against."""

    host: str
    path: str
    pool: str


@dataclass(frozen=True)
class Endpoint:
    """One kind of request. `params` is the query of a GET and the JSON body of a POST; `{key}` in the path is the key.

    pool       name of the rate limit that `weight` counts against
    place      (key) → where its requests go, if not to `host`, `path` and `pool`: a venue may serve some of its markets
               in the same format from a host of its own
    every_s    seconds between requests (whole minutes)
    next_page  (page) → parameters of the next page, or None after the last; the recorded key is the page's number
    reduce     starts the declared reduction of a good body that is too large to keep
    decode     makes text (UTF-8) of a good body that is none; ValueError if it cannot
    absent     statuses that say that there is nothing at the path, and never that the client is banned
    note       takes the headers of a good response
    sign       (method, URL at the exchange) → headers that a request needs, such as a signature
    """

    name: str
    host: str
    path: str
    pool: str
    params: Params = field(default_factory=dict)
    method: str = "GET"
    every_s: int = 60
    weight: int | Callable[[Request], int] = 1
    fan_out: FanOut | None = None
    bars: Bars | None = None
    next_page: Callable[[Body], Mapping[str, Any] | None] | None = None
    timeout_s: float = 10.0
    reduce: Callable[[], Reduction] | None = None
    place: Callable[[str], Place | None] | None = None
    decode: Callable[[bytes], bytes] | None = None
    absent: tuple[int, ...] = ()
    note: Callable[[Mapping[str, str]], None] | None = None
    sign: Callable[[str, str], Mapping[str, str]] | None = None

    def of_key(self, key: str) -> "Endpoint":
        """The endpoint as it is for this key."""
        place = self.place(key) if self.place else None
        return replace(self, host=place.host, path=place.path, pool=place.pool, place=None) if place else self


@dataclass(frozen=True)
class Stream:
    """A WebSocket connection that is always open.

    key          the key of its rows, where the venue has several streams of one name
    topics       the keys that are subscribed to, updated as they change; None = the path alone subscribes
    subscribe    (operation "subscribe" or "unsubscribe", topics) → the messages to send
    heartbeat    a message that the venue requires every `heartbeat_s` seconds; None = WebSocket pings instead
    skip         (frame) → whether it carries no data (a reply to a heartbeat)
    refused      (frame) → the reason if it rejects a subscription, else None
    silence_s    after so many seconds without any frame the connection counts as dead
    life_s       reconnect after so many seconds, before the venue closes the connection
    connections  the topics are divided over so many connections
    topics_each  the most topics of one connection
    topics_per_s the most topics that one connection subscribes to in a second; None = all at once. The connection
                 counts as listening once all are subscribed to
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
    key: str = ""
