"""Which host names are this server's own.

A page of another site reaches a server on its reader's machine by a name that it points there (DNS rebinding), or by
asking across sites: `Host` shows the one, `Origin` the other.
"""

import re

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# A name or an address and perhaps a port: Host holds nothing else, nor does an Origin after `://`.
HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)


class Hosts:
    """This machine's own names, and the `public` ones under which a reverse proxy publishes it."""

    def __init__(self, public: tuple[str, ...] = ()) -> None:
        self._names = frozenset((*LOOPBACK, *public))

    def has(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        found = HOST.fullmatch(host)
        return found is not None and found["name"].lower() in self._names

    def has_origin(self, origin: str) -> bool:
        """Whether an `Origin` header names a page of this server's hosts, at any port."""
        return self.has(origin.partition("://")[2])
