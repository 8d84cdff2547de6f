"""The declaration of one venue: its rate limits, what is requested now and of the past, and its streams."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ingest.declaration.archive import Archive
from ingest.declaration.endpoint import Endpoint, FanOut, Pool, Stream
from ingest.declaration.history import History


@dataclass(frozen=True)
class Venue:
    """A venue that is recorded; each file of `ingest.venues` declares one.

    ban_s     HTTP status → seconds to leave the host alone when the response names no time
    fault     (body) → the venue's own error inside a response of status 200, or None
    parallel  requests that are open at once
    headers   sent with every request and connection
    """

    name: str
    pools: tuple[Pool, ...]
    endpoints: tuple[Endpoint, ...]
    streams: tuple[Stream, ...] = ()
    history: tuple[History, ...] = ()
    archives: tuple[Archive, ...] = ()
    ban_s: Mapping[int, float] = field(default_factory=dict)
    fault: Callable[[str], str | None] | None = None
    parallel: int = 16
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def past(self) -> tuple[History | Archive, ...]:
        """What can be fetched of its past, by requests and as files."""
        return (*self.history, *self.archives)

    def markets_of(self, history: History | Archive) -> FanOut | None:
        """The fan-out over the markets of a history; None where it is one request without a key.

        Markets that no longer trade are included: their past is as valid, and a ticker lists few of them.
        """
        if isinstance(history, Archive) and history.like is None:
            return None
        like = history.like or history.endpoint
        fan_out = next(endpoint.fan_out for endpoint in self.endpoints if endpoint.name == like)
        return replace(fan_out, without=None, top=None, rest_s=None) if fan_out else None


def url_of(host: str, path: str, venues_url: str | None, *, websocket: bool = False) -> str:
    """The URL of a path at a venue's host: at the exchange itself, or at the sandbox that `venues_url` names."""
    if venues_url is None:
        return f"{'wss' if websocket else 'https'}://{host}{path}"
    prefix = venues_url.rstrip("/")
    if websocket:
        prefix = "ws" + prefix.removeprefix("http")
    return f"{prefix}/{host}{path}"
