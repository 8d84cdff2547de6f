"""Shared by all requests: the current edition, its cached responses, API keys and rate limits."""

import asyncio
import contextlib
import mimetypes
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from sanic import Request
from sanic.response import HTTPResponse, redirect

from serve.contract.endpoint import Endpoint
from serve.contract.errors import ApiError, quote
from serve.contract.parameters import read_values
from serve.contract.serialize import Body, FileBody
from serve.guide.guide import guide
from serve.http.cache import ResponseCache, StoredResponse
from serve.http.compression import FILE_LEVELS, IDENTITY, LEVELS, choose_encoding
from serve.http.followers import Followers
from serve.http.keys import KeyRing
from serve.http.limits import Access, Admission
from serve.http.metrics import Metrics
from serve.http.ranges import send_file
from serve.http.redis import RedisStore
from serve.http.responses import (
    CORS,
    NO_STORE,
    PRIVATE,
    compress_response,
    error_response,
    is_known,
    make_response,
    of_edition,
    options_response,
    respond,
    wants_page,
)
from serve.pages.pages import DOCUMENT_HEADERS, FILES_AT, PAGE_HEADERS, Pages, data_request, leads_nowhere
from serve.replica.catalog import Catalog
from serve.replica.edition import Edition, Reader
from serve.replica.store import NO_METRICS, QUERY_LIMIT_S, Store
from serve.replica.unavailable import Busy, Fallback, Unavailable

KNOWN_URLS = 20_000  # URLs per edition whose canonical query is remembered
RETRY_AFTER_S = 5
BUSY_S = 1
FILE_TTL_S, GUIDE_TTL_S = 60, 300
# A followed response says something at least this often, so that no proxy takes the connection for dead.
HEARTBEAT_S = 15
FOLLOWED = {"cache-control": NO_STORE, "x-accel-buffering": "no", **CORS}


@dataclass(frozen=True)
class Setup:
    """How to serve: the folders of replicas, generated dbt docs and quality report, the file of API keys, the Redis
    that workers share, the host names that MCP clients may use, the newest MCP revision if it is not the usual one, the
    metrics that may be requested before the first edition, which brings its own, the folder of the landing if
    raw responses may be shown, that of the minutes of files if they are served, the address of Dagster's pages on this
    machine if pages may link to it, the folder of what other processes count for /metrics, that of bulk files,
    whether MCP clients may send SQL, whom to write to about a vulnerability, and the seconds that a query may take."""

    serving: Path
    docs: Path | None = None
    keys: Path | None = None
    redis_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    workers: int = 1
    quality: Path | None = None
    public_hosts: tuple[str, ...] = ()
    mcp_revision: str = ""
    catalog: Catalog = NO_METRICS
    landing: Path | None = None
    minutes: Path | None = None
    dagster: str = ""
    metrics: Path | None = None
    bulk: Path | None = None
    mcp_sql: bool = False
    security_contact: str = ""
    query_limit_s: float = QUERY_LIMIT_S


class Service:
    """Answers requests to endpoints and files."""

    def __init__(self, setup: Setup) -> None:
        self.sites = {"/dbt": setup.docs, "/quality": setup.quality}
        self.pages = Pages(setup.dagster)
        self.security_contact = setup.security_contact
        # Documents of other tools get the pages' header.
        self.framed: Mapping[str, Callable[[str], bytes]] = {
            "/dbt": partial(self.pages.above, "/dbt/"),
            "/quality": partial(self.pages.framed, "/quality/"),
        }
        self.redis = RedisStore(setup.redis_url) if setup.redis_url else None
        self.cache = ResponseCache(redis=self.redis)
        self.store = Store(
            setup.serving,
            self._new_edition,
            query_limit_s=setup.query_limit_s,
            catalog=setup.catalog,
            landing=setup.landing,
            minutes=setup.minutes,
            bulk=setup.bulk,
        )
        self.admission = Admission(KeyRing(setup.keys), setup.trusted_proxies, self.redis)
        self.followers = Followers()
        self.metrics = Metrics(setup.metrics)
        self._clearing: asyncio.Task[None] | None = None

    def _new_edition(self) -> None:
        self.followers.wake()
        self._clearing = asyncio.get_running_loop().create_task(self.cache.clear())

    async def stop(self) -> None:
        """Wait for running queries, then close everything."""
        await self.store.stop()
        if self.redis:
            await self.redis.close()

    async def _admit(self, request: Request, budget: str) -> Access | HTTPResponse:
        """The client's access, counted in a budget; or the whole response, to OPTIONS and to who is refused."""
        if request.method == "OPTIONS":
            return options_response()
        try:
            return await self.admission.admit(request, budget)
        except ApiError as refused:
            return error_response(refused.status, refused.message, refused.headers)

    async def handle(self, item: Endpoint, request: Request, path_values: dict[str, str]) -> HTTPResponse:
        """Answer one request to an endpoint."""
        access = await self._admit(request, item.budget)
        if isinstance(access, HTTPResponse):
            return access
        encoding = choose_encoding(request.headers.get("accept-encoding", ""))
        cached = self._cached(request, access, encoding)
        self.metrics.looked_up(cached is not None)
        if cached is not None:
            return await self._send(item, request, access, cached)
        try:
            with self.store.current() as edition:
                answer = await self._answer(item, edition, request, access, path_values, encoding)
                return await self._send(item, request, access, answer)
        except ApiError as error:
            return self._error(access, error.status, error.message, error.headers)
        except Busy as busy:
            return self._error(access, 503, f"busy: {busy}", {"retry-after": str(BUSY_S)}, state="busy")
        except Unavailable as outage:
            return self._without_data(item, request, access, path_values, outage)

    async def follow(self, item: Endpoint, request: Request, path_values: dict[str, str]) -> HTTPResponse | None:
        """Answer with the body of each edition until the client leaves or the server stops. Without an edition the
        client waits for one: browsers do not connect again after an error."""
        access = await self._admit(request, item.budget)
        if isinstance(access, HTTPResponse):
            return access
        try:
            values = read_values(item.params, path_values, access.query_string)
            if last := request.headers.get("last-event-id"):
                values["since"] = item.params["since"].read("Last-Event-ID", last)
            with self.followers.place(self.admission.clients.name(request)):
                headers = {**FOLLOWED, **access.rate_limit.headers}
                if request.method == "HEAD":
                    return HTTPResponse(headers=headers, content_type=item.media[0])
                response = await request.respond(headers=headers, content_type=item.media[0])
                await self._go_on(item, values, response)
        except ApiError as error:
            return self._error(access, error.status, error.message, error.headers)
        return None

    async def _go_on(self, item: Endpoint, values: dict[str, Any], response: HTTPResponse) -> None:
        await response.send(f"retry: {RETRY_AFTER_S * 1000}\n\n")
        while not self.followers.ended:
            change, edition = self.followers.change, self.store.edition
            if edition and edition.edition_id != values["since"]:
                # A failing replica is replaced by another edition, or by none, which wakes again.
                with contextlib.suppress(Unavailable):
                    await response.send((await self._once(item, edition, dict(values))).data)
                    values["since"] = edition.edition_id
            try:
                await asyncio.wait_for(change.wait(), HEARTBEAT_S)
            except TimeoutError:
                await response.send(":\n\n")

    async def _once(self, item: Endpoint, edition: Edition, query: Any) -> StoredResponse:
        """The body of a query, which many clients have at the same moment."""

        def compute(reader: Reader) -> StoredResponse:
            return make_response(item.answer(query, reader), None)

        key = f"{edition.edition_id}:{edition.published_ms}:{item.path}:{query!r}"
        return await self.cache.build(key, partial(self.store.execute, edition, compute), local=True)

    async def send(self, item: Endpoint, request: Request, path_values: dict[str, str]) -> HTTPResponse | None:
        """Send the file that an endpoint finds, also while no edition can be read."""
        access = await self._admit(request, item.budget)
        if isinstance(access, HTTPResponse):
            return access
        try:
            values = read_values(item.params, path_values, access.query_string)
            body = await asyncio.to_thread(item.answer, values, self.store.bulk)
            assert isinstance(body, FileBody)
            kept = PRIVATE if access.in_url else {"cache-control": f"public, max-age={item.ttl}, immutable"}
            return await send_file(request, body, {**access.rate_limit.headers, **kept})
        except ApiError as error:
            return self._error(access, error.status, error.message, error.headers)

    async def _send(self, item: Endpoint, request: Request, access: Access, answer: StoredResponse) -> HTTPResponse:
        """The response; one that the client has costs nothing."""
        limit = access.rate_limit
        if is_known(request, answer):
            limit = await self.admission.refund(request, item.budget, access)
        return respond(request, answer, limit.lines, access.in_url)

    def _cached(self, request: Request, access: Access, encoding: str) -> StoredResponse | None:
        """The cached response to a URL that was requested before in this edition."""
        edition = self.store.edition
        known = edition.queries.get((request.raw_url, access.keyed)) if edition else None
        return self.cache.get(_key(known[1], encoding)) if known else None

    async def _answer(
        self,
        item: Endpoint,
        edition: Edition,
        request: Request,
        access: Access,
        path_values: dict[str, str],
        encoding: str,
    ) -> StoredResponse:
        url = (request.raw_url, access.keyed)
        known = None if access.in_url else edition.queries.get(url)
        if known is None:
            values = read_values(item.params, path_values, access.query_string)
            query = item.resolve(values, edition, access.keyed) if item.resolve else values
            known = (query, f"{edition.edition_id}:{edition.published_ms}:{item.path}:{query!r}")
            # A URL with a key in it is not remembered.
            if len(edition.queries) < KNOWN_URLS and not access.in_url:
                edition.queries[url] = known
        query, key = known

        def compute(reader: Reader) -> StoredResponse:
            # Compressed in the worker thread. Only what is sent is cached: few bodies are requested in two encodings.
            return compress_response(make_response(item.answer(query, reader), item.ttl, edition.edition_id), encoding)

        if item.ttl is None:
            # What depends on the clock is made once a second, however many ask.
            key = f"{key}@{int(time.time())}"
            return await self.cache.build(
                _key(key, encoding), partial(self.store.execute, edition, compute), local=True
            )
        return await self.cache.build(_key(key, encoding), partial(self.store.execute, edition, compute))

    def _without_data(
        self, item: Endpoint, request: Request, access: Access, path_values: dict[str, str], outage: Unavailable
    ) -> HTTPResponse:
        try:
            values = read_values(item.params, path_values, access.query_string)
            if item.offline:
                body = item.offline(values, outage, Fallback(self.store.serving, self.store.catalog))
                return respond(request, make_response(body, item.ttl), access.rate_limit.lines, access.in_url)
        except ApiError as error:
            return self._error(access, error.status, error.message, error.headers)
        state = "loading" if outage.missing else "unavailable"
        retry = {"retry-after": str(RETRY_AFTER_S)}
        return self._error(access, 503, f"the data cannot be read now: {outage}", retry, state=state)

    def _error(self, access: Access, status: int, message: str, headers: dict[str, str], **more: str) -> HTTPResponse:
        private = PRIVATE if access.in_url else {}
        edition = of_edition(self.store.edition.edition_id if self.store.edition else None)
        return error_response(status, message, {**access.rate_limit.headers, **edition, **headers, **private}, **more)

    async def not_found(self, request: Request, message: str) -> HTTPResponse:
        """The 404 of an unknown path: a page for a browser, except where only data is served."""

        async def answer(private: bool) -> HTTPResponse:
            return self._missing(request, message, private)

        return await self.admitted(request, answer)

    def _missing(self, request: Request, message: str, private: bool) -> HTTPResponse:
        if wants_page(request) and not request.path.startswith(("/api/", FILES_AT)):
            return self._html(request, self.pages.shell(request.path), private, status=404)
        return error_response(404, message, PRIVATE if private else {})

    async def view(self, request: Request) -> HTTPResponse:
        """A page of the explorer, or with `.json` after its path the request behind it."""

        async def answer(private: bool) -> HTTPResponse:
            data = data_request(request.path, request.query_string)
            if data is not None:
                return redirect(data, status=307)
            if leads_nowhere(request.path, self.store.edition):
                message = f"{request.path} names a coin, a market or a metric that there is not; /api/search finds them"
                return self._missing(request, message, private)
            return self._html(request, self.pages.shell(request.path), private)

        return await self.admitted(request, answer)

    async def reference(self, request: Request) -> HTTPResponse:
        """The page of the API's reference."""

        async def answer(private: bool) -> HTTPResponse:
            return self._html(request, self.pages.reference, private)

        return await self.admitted(request, answer)

    async def page_file(self, request: Request, name: str) -> HTTPResponse:
        """A script, a style sheet, a font or an image of the pages."""

        async def found(private: bool) -> HTTPResponse:
            path = self.pages.files.get(unquote(name))
            if path is None:
                return error_response(404, f"the pages have no file {quote(unquote(name))}", PRIVATE if private else {})
            return await self._file(request, path, private, PAGE_HEADERS, FILE_LEVELS)

        return await self.admitted(request, found)

    def _html(self, request: Request, body: Body, private: bool, status: int = 200) -> HTTPResponse:
        """A page made for this request."""
        plain = make_response(body, FILE_TTL_S if status == 200 else None)
        encoding = choose_encoding(request.headers.get("accept-encoding", ""))
        answer = compress_response(StoredResponse(plain.data, {**plain.headers, **PAGE_HEADERS}), encoding)
        return respond(request, answer, private=private, status=status)

    async def guide(self, request: Request, name: str) -> HTTPResponse:
        """A page or a file of the guide."""

        async def found(private: bool) -> HTTPResponse:
            # Rendered at the first request, in a thread so that other requests continue.
            body = (await asyncio.to_thread(guide, self.pages.dagster)).get(unquote(name))
            if body is None:
                message = f"the guide has no page {quote(unquote(name))}; /guide/ lists its pages"
                return error_response(404, message, PRIVATE if private else {})
            if not name and not request.path.endswith("/"):
                return redirect("/guide/", status=308)
            encoding = choose_encoding(request.headers.get("accept-encoding", ""))

            async def make() -> StoredResponse:
                plain = make_response(body, GUIDE_TTL_S)
                page = StoredResponse(plain.data, {**plain.headers, **PAGE_HEADERS})
                return await asyncio.to_thread(compress_response, page, encoding, FILE_LEVELS)

            answer = await self.cache.build(_key(f"guide:{name}", encoding), make, local=True)
            return respond(request, answer, private=private)

        return await self.admitted(request, found)

    async def admitted(
        self, request: Request, answer: Callable[[bool], Coroutine[Any, Any, HTTPResponse]], budget: str = "pages"
    ) -> HTTPResponse:
        """A response of no endpoint; `answer` receives whether the URL has a key, which forbids caching. It is counted,
        but its budget is only named when it is exceeded."""
        access = await self._admit(request, budget)
        if isinstance(access, HTTPResponse):
            return access
        return await answer(access.in_url)

    async def _file(
        self,
        request: Request,
        path: Path,
        private: bool,
        headers: Mapping[str, str] = MappingProxyType({}),
        levels: Mapping[str, int] = LEVELS,
        frame: Callable[[str], bytes] = str.encode,
    ) -> HTTPResponse:
        """A file, compressed once for as long as it does not change. `frame` is put around a page."""
        content_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        key = f"file:{path}:{(await asyncio.to_thread(path.stat)).st_mtime_ns}"
        encoding = choose_encoding(request.headers.get("accept-encoding", ""))

        def read() -> StoredResponse:
            data = path.read_bytes()
            if path.suffix == ".html":
                data = frame(data.decode())
            plain = make_response(Body(data, content_type), FILE_TTL_S)
            return compress_response(StoredResponse(plain.data, {**plain.headers, **headers}), encoding, levels)

        make = partial(asyncio.to_thread, read)
        return respond(request, await self.cache.build(_key(key, encoding), make, local=True), private=private)

    async def site(self, request: Request, at: str, name: str) -> HTTPResponse:
        """A file of the generated documents that are served at `at`."""

        async def found(private: bool) -> HTTPResponse:
            path = await asyncio.to_thread(_inside, self.sites[at], unquote(name) or "index.html")
            if path is None:
                message = f"{at}/{name} does not exist; the documentation is generated by the pipeline"
                return self._missing(request, message, private)
            if not name and not request.path.endswith("/"):
                return redirect(f"{at}/", status=308)
            return await self._file(request, path, private, DOCUMENT_HEADERS, frame=self.framed[at])

        return await self.admitted(request, found)


def _key(key: str, encoding: str) -> str:
    return key if encoding == IDENTITY else f"{key}|{encoding}"


def _inside(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError):  # names that no file can have
        return None
