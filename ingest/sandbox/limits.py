"""The venues' rate limits per client address, with their documented numbers and refusals."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from ingest.sandbox.wire import Answer, json_answer

_REQUESTS_TO_BAN = 20  # refused requests in one window until Binance bans the address
_FIRST_BAN_MS, _LONGEST_BAN_MS = 120_000, 3 * 86_400_000
_BYBIT_BAN_MS = 600_000


@dataclass(frozen=True, slots=True)
class Pool:
    """A limit: so much weight in a window."""

    limit: int
    window_ms: int


POOLS = {
    "fapi": Pool(2400, 60_000),
    "api": Pool(6000, 60_000),
    "funding": Pool(500, 300_000),
    "bybit": Pool(600, 5_000),
    "hyperliquid": Pool(1200, 60_000),
}


@dataclass(slots=True)
class _Use:
    window: tuple[int, int] = (-1, -1)
    used: int = 0
    refused: int = 0
    banned_until_ms: int = 0
    bans: int = 0


class Limits:
    """Counts weight by (address, pool).

    A window ends when either the simulated or the real one does, so that a fixed clock never locks a client out.
    """

    def __init__(self, enforced: bool = True) -> None:
        self.real_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000
        self._enforced = enforced
        self._uses: dict[tuple[str, str], _Use] = {}

    def _use(self, pool: str, address: str, now_ms: int) -> _Use:
        use = self._uses.setdefault((address, pool), _Use())
        width = POOLS[pool].window_ms
        window = (now_ms // width, self.real_ms() // width)
        if window != use.window:
            use.window, use.used, use.refused = window, 0, 0
        return use

    def refusal(self, pool: str, address: str, now_ms: int) -> Answer | None:
        """The venue's refusal if this address is over the limit or banned."""
        if not self._enforced:
            return None
        use, limit = self._use(pool, address, now_ms), POOLS[pool]
        if now_ms >= use.banned_until_ms and use.used < limit.limit:
            return None
        use.refused += 1
        if pool == "hyperliquid":
            return Answer(b"null", 429)
        if pool == "bybit":
            use.banned_until_ms = max(use.banned_until_ms, now_ms + _BYBIT_BAN_MS)
            body = {"retCode": 10006, "retMsg": "Too many visits. Exceeded the API Rate Limit.", "result": {},
                    "retExtInfo": {}, "time": now_ms}  # fmt: skip
            return json_answer(body, 403)
        return self._binance(use, limit, now_ms)

    def _binance(self, use: _Use, limit: Pool, now_ms: int) -> Answer:
        if now_ms >= use.banned_until_ms and use.refused > _REQUESTS_TO_BAN:
            use.banned_until_ms = now_ms + min(_FIRST_BAN_MS << use.bans, _LONGEST_BAN_MS)
            use.bans += 1
        if now_ms < use.banned_until_ms:
            wait = -(-(use.banned_until_ms - now_ms) // 1000)
            text = f"Way too many requests; IP banned until {use.banned_until_ms}. "
            text += "Please use the websocket for live updates to avoid bans."
            return Answer(json_answer({"code": -1003, "msg": text}).body, 418, {"Retry-After": str(wait)})
        wait = max(1, -(-(limit.window_ms - now_ms % limit.window_ms) // 1000))
        text = f"Too many requests; current limit of IP is {limit.limit} requests per minute. "
        text += "Please use the websocket for live updates to avoid polling the API."
        return Answer(json_answer({"code": -1003, "msg": text}).body, 429, {"Retry-After": str(wait)})

    def charge(self, pool: str, address: str, now_ms: int, weight: int) -> dict[str, str]:
        """Count a request and return the headers in which the venue shows the use."""
        use = self._use(pool, address, now_ms)
        use.used += weight
        if pool in ("fapi", "api"):
            return {"X-MBX-USED-WEIGHT-1M": str(use.used)}
        return {}
