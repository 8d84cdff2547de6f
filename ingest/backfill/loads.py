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
    """The newest edition, UTC epoch ms: when the newest build of backfilled rows in it began (0 without one), the ms
    that this build took, the edition's newest data, and when it was published."""

    past_started_ms: int
    past_took_ms: int
    as_of_ms: int
    published_ms: int


class Loads:
    """One load after the other: the next waits while UNSERVED of those before are not served.

    most      the largest load, bytes; `size` is what the next one may have
    build_ms  ms that the build of a load may take, so that it ends before the next minute's load lands. After one that
              took longer, and after loads that another one had to wait for, the next are half as large, and after any
              other a quarter larger
    size      what an earlier backfill found to be right for this machine
    """

    def __init__(self, most: int, build_ms: int, size: int | None = None) -> None:
        self._most, self._least, self._build_ms = most, max(1, most // LEAST), build_ms
        self.size = most if size is None else min(most, max(self._least, size))
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
            too_large = self._waited or newest.past_took_ms > self._build_ms
            self.size = max(self._least, self.size // 2) if too_large else min(self._most, self.size * 5 // 4)
            self._waited = False
        self._waited = self._waited or waits
        self._landed = left
        return waits
