"""How much of the past is landed at once, so that the running minutes stay fresh on any machine."""

from typing import NamedTuple

NOBODY_MS = 300_000
"""After so long without an edition nobody publishes, and no load waits for one."""
LEAST = 4
"""No load is smaller than this part of the largest: the past arrives on a slow machine too."""
UNSERVED = 3
"""So many loads may have landed without being served: a busy machine builds the past every other minute, after the
minute's edition, and serves it with the next one."""


class Served(NamedTuple):
    """The newest edition, UTC epoch ms: when the newest build of backfilled rows in it began (0 without one), its
    newest data, and when it was published."""

    past_started_ms: int
    as_of_ms: int
    published_ms: int


class Loads:
    """One load after the other: the next waits while UNSERVED of those before are not served.

    most     the largest load, bytes; `size` is what the next one may have
    late_ms  ms from an edition's newest data to its publication. After an edition with a load that took longer, and
             after loads that another one had to wait for, the next are half as large, and after any other a quarter
             larger
    """

    def __init__(self, most: int, late_ms: int) -> None:
        self.size = most
        self._most, self._late_ms = most, late_ms
        self._landed = list[int]()
        self._waited = False

    def note_landed(self, at_ms: int) -> None:
        """A load has landed, UTC epoch ms."""
        self._landed.append(at_ms)

    def must_wait(self, newest: Served | None, at_ms: int) -> bool:
        """Whether too many loads are not served yet, with this newest edition. Once one is, the next one's size is
        set."""
        if newest is None or at_ms - newest.published_ms > NOBODY_MS:
            self._landed.clear()
            return False
        left = [landed_ms for landed_ms in self._landed if newest.past_started_ms < landed_ms]
        waits = len(left) >= UNSERVED
        if len(left) < len(self._landed):
            is_late = self._waited or newest.published_ms - newest.as_of_ms > self._late_ms
            self.size = max(self._most // LEAST, self.size // 2) if is_late else min(self._most, self.size * 5 // 4)
            self._waited = False
        self._waited = self._waited or waits
        self._landed = left
        return waits
