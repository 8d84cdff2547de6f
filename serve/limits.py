"""Request budgets: fixed minutes of the clock, counted by key or by client address, in memory or in Redis.

The usual limiter libraries begin a window at its first request; these minutes are the same for everyone, so that a
counter is one increment, and the seconds to the window's end need no look at it.
"""

import ipaddress
import time
from dataclasses import dataclass
from typing import NamedTuple

from sanic import Request

from serve.errors import ApiError
from serve.keys import KeyRing
from serve.params import without_key
from serve.replies import PRIVATE
from serve.shared import Shared

WINDOW_S = 60
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Budget(NamedTuple):
    """So many requests a minute by client address; `keyed` by API key (None: a key changes nothing)."""

    limit: int
    keyed: int | None


BUDGETS = {"series": Budget(30, 120), "general": Budget(120, None)}
BAD_KEY = "the API key is not valid: it is unknown or revoked; leave X-API-Key and api_key out to ask without one"


@dataclass(frozen=True)
class Access:
    """Who asks: `keyed` with a valid key, which `in_url` has seen; and the headers that tell the budget."""

    keyed: bool
    in_url: bool
    query_string: str
    headers: dict[str, str]


class Admission:
    """Recognises keys and counts requests."""

    def __init__(self, keys: KeyRing, trusted_proxies: tuple[str, ...] = (), shared: Shared | None = None) -> None:
        self.keys = keys
        self.proxies: tuple[Network, ...] = tuple(ipaddress.ip_network(text) for text in trusted_proxies)
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
                headers = await self._told(request, budget, None, count=True)
                raise _refused(400, "api_key: give the key once, in X-API-Key or in api_key", in_url, headers)
            key_id = self.keys.find(texts[0])
            if key_id is None:
                headers = await self._told(request, budget, None, count=False)
                raise _refused(401, BAD_KEY, in_url, {**headers, "www-authenticate": 'ApiKey realm="tidemark"'})
        headers = await self._told(request, budget, key_id, count=True)
        if "retry-after" in headers:
            more = "" if key_id or not budget or not BUDGETS[budget].keyed else "; an API key raises it"
            limit = headers["x-ratelimit-limit"]
            raise _refused(429, f"more than {limit} requests in this minute{more}", in_url, headers)
        return Access(key_id is not None, in_url, query_string, headers)

    async def _told(self, request: Request, budget: str | None, key_id: str | None, count: bool) -> dict[str, str]:
        """The headers of a budget after counting (or only looking)."""
        if budget is None:
            return {}
        limit, keyed = BUDGETS[budget]
        who = f"ip:{self.client(request)}"
        if key_id is not None and keyed is not None:
            limit, who = keyed, f"key:{key_id}"
        now = int(time.time())
        minute, reset = now // WINDOW_S, WINDOW_S - now % WINDOW_S
        used = await self._used(f"{budget}:{who}:{minute}", minute, count)
        remaining = max(0, limit - used)
        headers = {
            "x-ratelimit-limit": str(limit),
            "x-ratelimit-remaining": str(remaining),
            "x-ratelimit-reset": str(reset),
            "ratelimit-policy": f'"{budget}";q={limit};w={WINDOW_S}',
            "ratelimit": f'"{budget}";r={remaining};t={reset}',
        }
        return {**headers, "retry-after": str(reset)} if used > limit else headers

    async def _used(self, name: str, minute: int, count: bool) -> int:
        if self.shared:
            shared = await (
                self.shared.count(f"limit:{name}", 2 * WINDOW_S) if count else self.shared.peek(f"limit:{name}")
            )
            if shared is not None:
                return shared
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        used = self._counts.get(name, 0) + count
        if count:
            self._counts[name] = used
        return used

    def client(self, request: Request) -> str:
        """The client's address: the nearest one that is no trusted proxy. An IPv6 client owns its whole /64."""
        address = request.ip
        if self.proxies and self._trusted(address):
            forwarded = ",".join(request.headers.getall("x-forwarded-for", []))
            for hop in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
                if _address(hop) is None:
                    break
                address = hop
                if not self._trusted(hop):
                    break
        parsed = _address(address)
        if isinstance(parsed, ipaddress.IPv6Address):
            return str(ipaddress.ip_network((parsed, 64), strict=False))
        return str(parsed or address)

    def _trusted(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self.proxies)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _refused(status: int, message: str, in_url: bool, headers: dict[str, str]) -> ApiError:
    return ApiError(status, message, {**headers, **(PRIVATE if in_url else {})})
