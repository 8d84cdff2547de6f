"""How much of the past is landed at once, so that the running minutes stay fresh on any machine."""

from typing import NamedTuple

NOBODY_MS = 300_000
"""After so long without an edition nobody publishes, and no load waits for one."""
LEAST, MOST = 4, 4
"""No load is smaller than this part of the first one (the past arrives on a slow machine too), or so many times as
large."""
SHRINK, GROW = 0.5, 1.25
"""The size of a load as a part of the one before: at least, and at most."""
FULL = 0.75
"""A load of this part of the size says how long one of that size takes; a smaller one, only that it is not too long."""
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

    first     the first load, bytes; `size` is what the next one may have
    build_ms  ms that the build of a load should take, so that it ends before the next minute's load lands: the size
              follows from those that the last one took, and grows only after one that was as large as it might be.
              After loads that another one had to wait for, it is halved
    size      what an earlier backfill found to be right for this machine
    """

    def __init__(self, first: int, build_ms: int, size: int | None = None) -> None:
        self._least, self._most, self._build_ms = max(1, first // LEAST), first * MOST, build_ms
        self.size = self._bounded(size or first)
        self._landed = list[tuple[int, int]]()
        self._waited = False

    def note_landed(self, at_ms: int, size: int) -> None:
        """A load of so many bytes has landed, UTC epoch ms."""
        self._landed.append((at_ms, size))

    def must_wait(self, newest: Served | None, at_ms: int) -> bool:
        """Whether too many loads are not served yet, with this newest edition. Once one is, the next one's size is
        set."""
        if newest is None or at_ms - newest.published_ms > NOBODY_MS:
            self._landed.clear()
            return False
        left = [landed for landed in self._landed if newest.past_started_ms < landed[0]]
        waits = len(left) >= UNSERVED
        if served := self._landed[: len(self._landed) - len(left)]:
            share = SHRINK if self._waited else self._build_ms / max(1, newest.past_took_ms)
            most = GROW if served[-1][1] >= FULL * self.size else 1.0
            self.size = self._bounded(int(self.size * min(most, max(SHRINK, share))))
            self._waited = False
        self._waited = self._waited or waits
        self._landed = left
        return waits

    def _bounded(self, size: int) -> int:
        return min(self._most, max(self._least, size))
