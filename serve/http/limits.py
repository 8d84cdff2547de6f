"""API keys and rate limits: requests per minute of the clock by key or by client address, in memory or in Redis.

Limiter libraries usually begin a window at a client's first request. Here every window is a minute of the clock:
counting is one increment, and the seconds until the reset need no lookup.
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
from serve.http.client_address import ClientAddresses
from serve.http.keys import KeyRing
from serve.http.redis import RedisStore
from serve.http.responses import PRIVATE

WINDOW_S = 60


class Budget(NamedTuple):
    """Requests a minute by client address; `keyed` by API key (None: a key changes nothing)."""

    limit: int
    keyed: int | None


# `status` leaves room for monitoring beside people; `pages` counts pages, their files, documents and unknown paths: the
# first look at a page is some twenty requests. A reader of bulk files requests some ranges of each.
BUDGETS = {
    "series": Budget(30, 120),
    "general": Budget(120, None),
    "status": Budget(300, None),
    "pages": Budget(1200, None),
    "bulk": Budget(1200, None),
    "mcp": Budget(60, None),
}
CHALLENGE = {"www-authenticate": 'ApiKey realm="tidemark"'}
BAD_KEY = "the API key is not valid: it is unknown or revoked; leave X-API-Key and api_key out to ask without one"


class RateLimit(NamedTuple):
    """The rate-limit headers of a response, also encoded, and whether the budget is exceeded."""

    headers: Mapping[str, str]
    lines: bytes
    exceeded: bool


class Access(NamedTuple):
    """An admitted request: the id of its valid key, which may be `in_url`; the query string without the key."""

    key_id: str | None
    in_url: bool
    query_string: str
    rate_limit: RateLimit

    @property
    def keyed(self) -> bool:
        """Whether the request has a valid key."""
        return self.key_id is not None


class Admission:
    """Recognises keys and counts requests."""

    def __init__(self, keys: KeyRing, trusted_proxies: tuple[str, ...] = (), redis: RedisStore | None = None) -> None:
        self.keys = keys
        self.clients = ClientAddresses(trusted_proxies)
        self.redis = redis
        self._minute = 0
        self._counts: dict[str, int] = {}

    async def admit(self, request: Request, budget: str) -> Access:
        """Count the request; raises 401 for an invalid key and 429 for an exceeded budget, which are not counted."""
        in_url, query_string = False, request.query_string
        texts = request.headers.getall("x-api-key") if "x-api-key" in request.headers else []
        if "%" in query_string or "api" in query_string:
            in_query, query_string = without_key(query_string)
            in_url = bool(in_query)
            texts = texts + in_query
        key_id = None
        if texts:
            if len(texts) > 1:
                rate_limit = await self.charge(request, budget, None, in_url)
                raise _refused(
                    400, "api_key: give the key once, in X-API-Key or in api_key", in_url, rate_limit.headers
                )
            key_id = self.keys.find(texts[0])
            if key_id is None:
                rate_limit = await self._rate_limit(request, budget, None, count=False)
                raise _refused(401, BAD_KEY, in_url, {**rate_limit.headers, **CHALLENGE})
        rate_limit = await self.charge(request, budget, key_id, in_url)
        return Access(key_id, in_url, query_string, rate_limit)

    def key_in_header(self, request: Request) -> str | None:
        """The id of the key in X-API-Key, or None without one; raises 401 for an invalid key. Counts nothing."""
        texts = request.headers.getall("x-api-key", ())
        found = self.keys.find(texts[0]) if len(texts) == 1 else None
        if texts and found is None:
            raise ApiError(401, BAD_KEY, dict(CHALLENGE))
        return found

    async def charge(self, request: Request, budget: str, key_id: str | None, in_url: bool = False) -> RateLimit:
        """Count one request by key or, without one, by address; raises 429 if the budget is exceeded."""
        rate_limit = await self._rate_limit(request, budget, key_id, count=True)
        if rate_limit.exceeded:
            more = "" if key_id or not BUDGETS[budget].keyed else "; an API key raises it"
            limit, reset = rate_limit.headers["x-ratelimit-limit"], rate_limit.headers["x-ratelimit-reset"]
            message = f"more than {limit} requests in this minute{more}"
            raise _refused(429, message, in_url, {**rate_limit.headers, "retry-after": reset})
        return rate_limit

    async def refund(self, request: Request, budget: str, access: Access) -> RateLimit:
        """Take back that the request was counted: the client had the response."""
        limit, who = self._counter(request, budget, access.key_id)
        minute, second = divmod(int(time.time()), WINDOW_S)
        used = await self.redis.uncount(f"limit:{who}:{minute}", 2 * WINDOW_S) if self.redis else None
        if used is None:
            used = max(0, self._used(who, minute, count=False) - 1)
            self._counts[who] = used
        return _describe(budget, limit, limit - used, WINDOW_S - second)

    async def _rate_limit(self, request: Request, budget: str, key_id: str | None, count: bool) -> RateLimit:
        """The rate limit of the caller; `count` False: without counting this request."""
        limit, who = self._counter(request, budget, key_id)
        minute, second = divmod(int(time.time()), WINDOW_S)
        used = None
        if self.redis:
            name = f"limit:{who}:{minute}"
            used = await (self.redis.count(name, 2 * WINDOW_S) if count else self.redis.peek(name))
        if used is None:
            used = self._used(who, minute, count)
        return _describe(budget, limit, limit - used if used <= limit else -1, WINDOW_S - second)

    def _counter(self, request: Request, budget: str, key_id: str | None) -> tuple[int, str]:
        """The limit of the caller, and the name of its counter."""
        limit, keyed = BUDGETS[budget]
        if key_id is not None and keyed is not None:
            return keyed, f"{budget}:key:{key_id}"
        return limit, f"{budget}:ip:{self.clients.name(request)}"

    def _used(self, who: str, minute: int, count: bool) -> int:
        """Requests of this minute as this worker alone has counted them."""
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        used = self._counts.get(who, 0) + count
        if count:
            self._counts[who] = used
        return used


@lru_cache(maxsize=8192)
def _describe(budget: str, limit: int, left: int, reset: int) -> RateLimit:
    """The headers; `left` is -1 if the budget is exceeded."""
    remaining = max(0, left)
    headers = {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": str(reset),
        "ratelimit-policy": f'"{budget}";q={limit};w={WINDOW_S}',
        "ratelimit": f'"{budget}";r={remaining};t={reset}',
    }
    return RateLimit(MappingProxyType(headers), encode_headers(headers), left < 0)


def _refused(status: int, message: str, in_url: bool, headers: Mapping[str, str]) -> ApiError:
    return ApiError(status, message, {**headers, **(PRIVATE if in_url else {})})
