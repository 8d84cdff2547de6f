"""How much of the past is landed at once, so that the running minutes stay fresh on any machine."""

from typing import NamedTuple

NOBODY_MS = 300_000
"""After so long without an edition nobody publishes, and no load waits for one."""
LEAST = 4
"""No load is smaller than this part of the largest: the past arrives on a slow machine too."""


class Served(NamedTuple):
    """The newest edition, UTC epoch ms: when its build began, its newest data, and when it was published."""

    started_ms: int
    as_of_ms: int
    published_ms: int


class Loads:
    """One load after the other: the next waits until the one before is served.

    most     the largest load, bytes; `size` is what the next one may have
    late_ms  ms from an edition's newest data to its publication. After an edition with a load that took longer, and
             after a load that another one had to wait for, the next are half as large, and after any other a quarter
             larger
    """

    def __init__(self, most: int, late_ms: int) -> None:
        self.size = most
        self._most, self._late_ms = most, late_ms
        self._landed_ms: int | None = None
        self._waited = False

    def note_landed(self, at_ms: int) -> None:
        """A load has landed, UTC epoch ms."""
        self._landed_ms, self._waited = at_ms, False

    def must_wait(self, newest: Served | None, at_ms: int) -> bool:
        """Whether the last load is not served yet, with this newest edition. Once it is, the next one's size is set."""
        if self._landed_ms is None or newest is None or at_ms - newest.published_ms > NOBODY_MS:
            return False
        if newest.started_ms < self._landed_ms:
            self._waited = True
            return True
        is_late = self._waited or newest.published_ms - newest.as_of_ms > self._late_ms
        self.size = max(self._most // LEAST, self.size // 2) if is_late else min(self._most, self.size * 5 // 4)
        self._landed_ms = None
        return False
