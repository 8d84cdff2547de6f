"""Request budgets: fixed minutes of the clock, counted by key or by client address, in memory or in Redis.

The usual limiter libraries begin a window at its first request; these minutes are the same for everyone, so that a
counter is one increment, and the seconds to the window's end need no look at it.
"""

import time
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from sanic import Request

from serve.contract.errors import ApiError
from serve.contract.parameters import without_key
from serve.http.cache import encode_headers
from serve.http.client_address import Clients
from serve.http.keys import KeyRing
from serve.http.redis import Shared
from serve.http.replies import PRIVATE

WINDOW_S = 60


class Budget(NamedTuple):
    """So many requests a minute by client address; `keyed` by API key (None: a key changes nothing)."""

    limit: int
    keyed: int | None


BUDGETS = {"series": Budget(30, 120), "general": Budget(120, None), "mcp": Budget(60, None)}
CHALLENGE = {"www-authenticate": 'ApiKey realm="tidemark"'}
BAD_KEY = "the API key is not valid: it is unknown or revoked; leave X-API-Key and api_key out to ask without one"


class Told(NamedTuple):
    """What is told of a budget, as headers and as the lines in which they are sent."""

    headers: Mapping[str, str]
    lines: bytes
    spent: bool


UNTOLD = Told(MappingProxyType({}), b"", spent=False)


class Access(NamedTuple):
    """Who asks: `keyed` with a valid key, which `in_url` has seen; and what is told of the budget."""

    keyed: bool
    in_url: bool
    query_string: str
    told: Told


class Admission:
    """Recognises keys and counts requests."""

    def __init__(self, keys: KeyRing, trusted_proxies: tuple[str, ...] = (), shared: Shared | None = None) -> None:
        self.keys = keys
        self.clients = Clients(trusted_proxies)
        self.shared = shared
        self._minute = 0
        self._counts: dict[str, int] = {}

    async def admit(self, request: Request, budget: str | None) -> Access:
        """Count the request; raises the 401 of a wrong key and the 429 of a spent budget, which do not count."""
        in_url, query_string = False, request.query_string
        texts = request.headers.getall("x-api-key") if "x-api-key" in request.headers else []
        if "%" in query_string or "api" in query_string:
            in_query, query_string = without_key(query_string)
            in_url = bool(in_query)
            texts = texts + in_query
        key_id = None
        if texts:
            if len(texts) > 1:
                told = await self.charge(request, budget, None, in_url)
                raise _refused(400, "api_key: give the key once, in X-API-Key or in api_key", in_url, told.headers)
            key_id = self.keys.find(texts[0])
            if key_id is None:
                told = await self._told(request, budget, None, count=False)
                raise _refused(401, BAD_KEY, in_url, {**told.headers, **CHALLENGE})
        told = await self.charge(request, budget, key_id, in_url)
        return Access(key_id is not None, in_url, query_string, told)

    def key_in_header(self, request: Request) -> str | None:
        """The id of the key in X-API-Key, where there is one; raises the 401 of a wrong key. Counts nothing."""
        texts = request.headers.getall("x-api-key", ())
        found = self.keys.find(texts[0]) if len(texts) == 1 else None
        if texts and found is None:
            raise ApiError(401, BAD_KEY, dict(CHALLENGE))
        return found

    async def charge(self, request: Request, budget: str | None, key_id: str | None, in_url: bool = False) -> Told:
        """Count one request of whoever has the key or, without one, the address; raises the 429 of a spent budget."""
        told = await self._told(request, budget, key_id, count=True)
        if told.spent:
            more = "" if key_id or not budget or not BUDGETS[budget].keyed else "; an API key raises it"
            limit, reset = told.headers["x-ratelimit-limit"], told.headers["x-ratelimit-reset"]
            message = f"more than {limit} requests in this minute{more}"
            raise _refused(429, message, in_url, {**told.headers, "retry-after": reset})
        return told

    async def _told(self, request: Request, budget: str | None, key_id: str | None, count: bool) -> Told:
        """What is told of a budget after counting (or only looking)."""
        if budget is None:
            return UNTOLD
        limit, keyed = BUDGETS[budget]
        if key_id is not None and keyed is not None:
            limit, who = keyed, f"{budget}:key:{key_id}"
        else:
            who = f"{budget}:ip:{self.clients.name(request)}"
        minute, second = divmod(int(time.time()), WINDOW_S)
        used = None
        if self.shared:
            name = f"limit:{who}:{minute}"
            used = await (self.shared.count(name, 2 * WINDOW_S) if count else self.shared.peek(name))
        if used is None:
            used = self._used(who, minute, count)
        return _as_told(budget, limit, limit - used if used <= limit else -1, WINDOW_S - second)

    def _used(self, who: str, minute: int, count: bool) -> int:
        """How often this worker has counted, for itself alone."""
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        used = self._counts.get(who, 0) + count
        if count:
            self._counts[who] = used
        return used


@lru_cache(maxsize=8192)
def _as_told(budget: str, limit: int, left: int, reset: int) -> Told:
    """`left` is -1 where the budget is spent."""
    remaining = max(0, left)
    headers = {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": str(reset),
        "ratelimit-policy": f'"{budget}";q={limit};w={WINDOW_S}',
        "ratelimit": f'"{budget}";r={remaining};t={reset}',
    }
    return Told(MappingProxyType(headers), encode_headers(headers), left < 0)


def _refused(status: int, message: str, in_url: bool, headers: Mapping[str, str]) -> ApiError:
    return ApiError(status, message, {**headers, **(PRIVATE if in_url else {})})
