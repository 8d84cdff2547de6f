"""The topics of a stream, divided over several connections."""

import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)


class Shares:
    """Assigns topics to connections. A topic stays on its connection; a new one is assigned where there are fewest.

    When every connection has `most` topics, further ones are left out.
    """

    def __init__(self, connections: int, most: int | None) -> None:
        self._most = most
        self._held: list[set[str]] = [set() for _ in range(connections)]
        self._left_out = 0

    def of(self, connection: int, topics: Iterable[str]) -> set[str]:
        """The topics of one connection, out of all topics in order of importance."""
        topics = list(topics)
        for held in self._held:
            held.intersection_update(topics)
        settled = set().union(*self._held)
        left_out = 0
        for topic in topics:
            if topic in settled:
                continue
            fewest = min(self._held, key=len)
            if self._most is not None and len(fewest) >= self._most:
                left_out += 1
            else:
                fewest.add(topic)
        if left_out != self._left_out:
            log.error("%d topics do not fit on %d connections of %s", left_out, len(self._held), self._most)
            self._left_out = left_out
        return set(self._held[connection])
