"""The HTTP client of one venue: rate limits, time-outs, retries within the minute, bans. Each request is one row."""

import asyncio
import logging
import random
import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote

import aiohttp
import orjson

from ingest.declaration.endpoint import Endpoint, Request
from ingest.declaration.reduction import Reduction
from ingest.declaration.venue import Venue, url_of
from ingest.landing.rows import Row, canonical
from ingest.recorder.budget import Bans, Budget, Bytes, until_next_minute_s
from ingest.recorder.clock import as_text, now_ms

log = logging.getLogger(__name__)

USER_AGENT = "tidemark/0.1 (market data recorder)"
BODY_LIMIT, MINUTE_LIMIT = 64 * 2**20, 192 * 2**20
"""Bytes of a body, and of all bodies of a venue in a minute: more than any known venue sends."""
LONGEST_WAIT_S, LONGEST_BAN_S = 3600, 24 * 3600
"""The longest pause that is granted; after it one request asks whether it is over."""
FIRST_PAUSE_S, LONGEST_PAUSE_S, MOST_ATTEMPTS = 0.4, 8.0, 6
BANNED_UNTIL = re.compile(r"banned until (\d{13})")
SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


class Attempt(NamedTuple):
    """The outcome of one attempt; `again` says whether another one may succeed, after `pause_s` if that is above 0."""

    status: int | None
    requested_ms: int
    received_ms: int | None
    error: str | None
    body: str | None
    again: bool
    pause_s: float = 0.0


class Client:
    """Sends the requests to one venue. Venues share nothing, so that none can delay another."""

    def __init__(self, venue: Venue, venues_url: str | None, *, history: bool = False) -> None:
        """`history`: use the share of each rate limit that is reserved for the backfill, else the recorder's."""
        self.venue = venue
        self.venues_url = venues_url
        self.budgets = {pool.name: Budget(pool, history=history) for pool in venue.pools}
        self.bans = Bans()
        self.bytes = Bytes(MINUTE_LIMIT)
        self.held = 0
        """Open requests that a rate limit or a ban delays, or delayed before they were sent."""
        self._slots = asyncio.Semaphore(venue.parallel)
        # aiohttp decompresses gzip and deflate, and br if its library is installed. No Origin header: some venues limit
        # clients that look like a web page more strictly.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=venue.parallel, ttl_dns_cache=300, keepalive_timeout=75),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", **venue.headers},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def fetch(self, endpoint: Endpoint, request: Request, params: Mapping[str, Any], deadline: float) -> Row:
        """Send a request until its response is final, a retry is useless, or the deadline (loop time, s) is reached."""
        held = 0

        def hold() -> None:
            nonlocal held
            self.held += 1 - held
            held = 1

        try:
            return await self._fetch(endpoint, request, params, deadline, hold)
        finally:
            self.held -= held

    async def _fetch(
        self, endpoint: Endpoint, request: Request, params: Mapping[str, Any], deadline: float, hold: Callable[[], None]
    ) -> Row:
        endpoint = endpoint.of_key(request.key)
        weight = endpoint.weight(request) if callable(endpoint.weight) else endpoint.weight
        budget, scopes = self.budgets[endpoint.pool], (endpoint.host, f"pool {endpoint.pool}")
        loop = asyncio.get_running_loop()
        text = canonical(params)
        attempts = 0
        last = Attempt(None, now_ms(), None, "not asked: the minute was over", None, again=True)

        def row() -> Row:
            return Row(
                request.tick_ms,
                self.venue.name,
                endpoint.name,
                request.key,
                text,
                last.status,
                last.requested_ms,
                last.received_ms,
                attempts,
                last.error,
                last.body,
            )

        def not_asked(reason: str) -> Row:
            nonlocal last
            if not attempts:
                last = Attempt(None, now_ms(), None, f"not asked: {reason}", None, again=False)
            return row()

        while loop.time() < deadline and attempts < MOST_ATTEMPTS:
            if ban := self.bans.in_force(scopes, now_ms()):
                until_ms, reason = ban
                # The random part spreads out all the requests that wait for the same ban.
                pause_s = (until_ms - now_ms()) / 1000 + random.uniform(0, 0.5)
                if loop.time() + pause_s >= deadline:
                    return not_asked(f"{reason} until {as_text(until_ms)}")
                hold()
                await asyncio.sleep(pause_s)
                continue
            if self.bytes.spent(now_ms()):
                pause_s = until_next_minute_s(now_ms())
                if loop.time() + pause_s >= deadline:
                    return not_asked(str(self.bytes))
                hold()
                await asyncio.sleep(pause_s)
                continue
            if not budget.has_room(weight):
                hold()
            if not await budget.take(weight, deadline):
                pool = budget.pool
                return not_asked(f"the budget of {budget.limit} per {pool.window_s:g} s ({pool.name}) was spent")
            sent = False
            try:
                async with asyncio.timeout_at(deadline):
                    await self._slots.acquire()
                try:
                    # Nothing is sent if a ban began while this request waited for its turn.
                    if self.bans.in_force(scopes, now_ms()):
                        continue
                    self.bans.probe(scopes, now_ms())
                    attempts += 1
                    sent = True
                    last = await self._attempt(endpoint, request.key, params, deadline - loop.time())
                finally:
                    self._slots.release()
            except TimeoutError:
                break
            finally:
                budget.give_back(weight, sent=sent)
            self._note_ban(endpoint, last, scopes)
            if not last.again:
                break
            pause_s = last.pause_s or random.uniform(0.5, 1) * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempts)
            if loop.time() + pause_s >= deadline:
                break
            await asyncio.sleep(pause_s)
        return row()

    async def _attempt(self, endpoint: Endpoint, key: str, params: Mapping[str, Any], left_s: float) -> Attempt:
        timeout_s = min(endpoint.timeout_s, left_s)
        path = endpoint.path.replace("{key}", quote(key, safe=""))
        url = url_of(endpoint.host, path, self.venues_url)
        headers = dict(endpoint.sign(endpoint.method, url_of(endpoint.host, path, None))) if endpoint.sign else {}
        post = {"data": orjson.dumps(params), "headers": {"Content-Type": "application/json", **headers}}
        query = {"params": {name: str(value) for name, value in params.items()}, "headers": headers}
        requested_ms = now_ms()
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session.request(
                    endpoint.method,
                    url,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None),
                    **(post if endpoint.method == "POST" else query),
                ) as response,
            ):
                raw = await self._whole(
                    response, endpoint.reduce() if endpoint.reduce and response.status == 200 else None
                )
        except TimeoutError:
            return Attempt(None, requested_ms, None, f"no answer within {timeout_s:.1f} s", None, again=True)
        except TooLong as error:
            return Attempt(response.status, requested_ms, now_ms(), str(error), None, again=False)
        except TooMuch as error:
            received_ms = now_ms()
            pause_s = until_next_minute_s(received_ms)
            return Attempt(response.status, requested_ms, received_ms, str(error), None, again=True, pause_s=pause_s)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Attempt(None, requested_ms, None, f"{type(error).__name__}: {error}", None, again=True)
        try:
            if endpoint.note and response.status == 200:
                endpoint.note(response.headers)
            if endpoint.decode and response.status == 200:
                raw = endpoint.decode(raw)
            return self._judge(response.status, response.headers, raw, requested_ms)
        except ValueError as fault:
            return Attempt(response.status, requested_ms, now_ms(), str(fault), None, again=False)
        except Exception as fault:
            # It was asked and answered, whatever is wrong with the answer or with the declaration.
            log.exception("%s %s %s", self.venue.name, endpoint.name, key)
            return Attempt(response.status, requested_ms, now_ms(), repr(fault), None, again=False)

    async def _whole(self, response: aiohttp.ClientResponse, reduction: Reduction | None) -> bytes:
        """The bytes of the body, or of its reduction; TooLong for more than BODY_LIMIT, TooMuch for more than the
        minute's."""
        chunks, size = [], 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > BODY_LIMIT:
                raise TooLong(f"the body is longer than {BODY_LIMIT >> 20} MB")
            if self.bytes.take(len(chunk), now_ms()):
                raise TooMuch(str(self.bytes))
            if reduction:
                reduction.feed(chunk)
            else:
                chunks.append(chunk)
        return reduction.result() if reduction else b"".join(chunks)

    def _judge(self, status: int, headers: Mapping[str, str], raw: bytes, requested_ms: int) -> Attempt:
        received_ms = now_ms()
        error = None
        try:
            body = raw.decode()
        except UnicodeDecodeError as damage:
            body = raw.decode(errors="replace")
            error = f"the body is not UTF-8 at byte {damage.start}: damaged characters are replaced"
        if status == 200 and not error:
            fault = self.venue.fault(body) if self.venue.fault else None
            return Attempt(status, requested_ms, received_ms, fault, body, again=fault is not None)
        pause_s = _retry_after(headers, received_ms)
        # A retry of any other 4xx has the same outcome.
        again = status >= 500 or status in (200, 408, 429)
        if status != 200:
            error = f"HTTP {status}" + (f" ({error})" if error else "")
        return Attempt(status, requested_ms, received_ms, error, body, again, pause_s)

    def _note_ban(self, endpoint: Endpoint, attempt: Attempt, scopes: tuple[str, ...]) -> None:
        """A ban is in force for the whole host, because venues ban addresses; `too many requests` only for the pool."""
        if attempt.received_ms is None or attempt.status is None:
            return
        if attempt.status in self.venue.ban_s and attempt.status not in endpoint.absent:
            pause_s = attempt.pause_s or self.venue.ban_s[attempt.status]
            if named := BANNED_UNTIL.search(attempt.body or ""):
                pause_s = max(attempt.pause_s, (int(named[1]) - attempt.received_ms) / 1000)
            self._ban(endpoint.host, attempt, pause_s, LONGEST_BAN_S, f"{endpoint.host} banned us")
        elif attempt.status == 429 or (attempt.status == 503 and attempt.pause_s):
            pause_s = attempt.pause_s or 1.0
            self._ban(f"pool {endpoint.pool}", attempt, pause_s, LONGEST_WAIT_S, f"{endpoint.host} asked to wait")
        else:
            self.bans.lift(scopes)

    def _ban(self, scope: str, attempt: Attempt, pause_s: float, longest_s: int, reason: str) -> None:
        until_ms = (attempt.received_ms or 0) + int(min(pause_s, longest_s) * 1000)
        self.bans.add(scope, until_ms, f"{reason} (HTTP {attempt.status})", capped=pause_s > longest_s)


class TooLong(Exception):
    """A body is longer than what is taken."""


class TooMuch(Exception):
    """All bodies of a minute together are longer than what is taken."""


def _retry_after(headers: Mapping[str, str], received_ms: int) -> float:
    """Seconds to wait according to the Retry-After header (a number or an HTTP date); 0 for anything else."""
    value = headers.get("Retry-After", "").strip()
    if SECONDS.fullmatch(value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - received_ms / 1000)
    except (ValueError, OverflowError):
        return 0.0
