"""Rate limits per client address: the used weight of each pool, and which addresses are over the limit or banned."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pool:
    """A rate limit: the weight allowed in a window."""

    limit: int
    window_ms: int


@dataclass(slots=True)
class Use:
    """The use of one pool by one address; a refusal may ban the address."""

    window: tuple[int, int] = (-1, -1)
    used: int = 0
    refused: int = 0  # in this window, with the request that is being refused
    banned_until_ms: int = 0
    bans: int = 0


class Limits:
    """Counts weight by (address, pool).

    A window ends when either the simulated or the real one does, so that a fixed clock never blocks a client for ever.
    """

    def __init__(self, pools: Mapping[str, Pool], enforced: bool = True) -> None:
        self.real_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000
        self.pools = pools
        self._enforced = enforced
        self._uses: dict[tuple[str, str], Use] = {}

    def _use(self, pool: str, address: str, now_ms: int) -> Use:
        use = self._uses.setdefault((address, pool), Use())
        width = self.pools[pool].window_ms
        window = (now_ms // width, self.real_ms() // width)
        if window != use.window:
            use.window, use.used, use.refused = window, 0, 0
        return use

    def exceeded(self, pool: str, address: str, now_ms: int) -> Use | None:
        """The use of an address that is over the limit or banned; None if it may send."""
        if not self._enforced:
            return None
        use = self._use(pool, address, now_ms)
        if now_ms >= use.banned_until_ms and use.used < self.pools[pool].limit:
            return None
        use.refused += 1
        return use

    def charge(self, pool: str, address: str, now_ms: int, weight: int) -> int:
        """Count a request and return what has been used."""
        use = self._use(pool, address, now_ms)
        use.used += weight
        return use.used
