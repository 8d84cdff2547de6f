"""What all requests share: the followed replica, the finished answers of its edition, keys and budgets."""

import asyncio
import mimetypes
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
from serve.contract.errors import ApiError, shown
from serve.contract.parameters import read_values
from serve.contract.serialize import Body
from serve.guide.guide import guide
from serve.http.cache import ResponseCache, Stored
from serve.http.compression import IDENTITY, coding_of
from serve.http.keys import KeyRing
from serve.http.limits import Access, Admission
from serve.http.redis import Shared
from serve.http.replies import PRIVATE, coded, error, options, reply, stored
from serve.replica.edition import Edition, Reader
from serve.replica.store import Store
from serve.replica.unavailable import Unavailable

KNOWN_URLS = 20_000  # URLs per edition whose canonical query is remembered
RETRY_AFTER_S = 5
FILE_TTL_S, GUIDE_TTL_S = 60, 300
# Pages of our own run the scripts that are served beside them and nothing else, and talk to this server alone. Images
# in style sheets are data: URLs. An address may have a key in it, which is nobody else's business.
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True)
class Setup:
    """How to serve: where replicas, generated dbt docs, keys and the quality report are; what is shared with whom;
    under which names it is published, and the newest MCP revision that it speaks where that is not the usual one."""

    serving: Path
    docs: Path | None = None
    keys: Path | None = None
    redis_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    workers: int = 1
    quality: Path | None = None
    public_hosts: tuple[str, ...] = ()
    mcp_revision: str = ""


class Service:
    """Answers requests to endpoints and files."""

    def __init__(self, setup: Setup) -> None:
        self.sites = {"/dbt": setup.docs, "/quality": setup.quality}
        self.shared = Shared(setup.redis_url) if setup.redis_url else None
        self.cache = ResponseCache(shared=self.shared)
        self.store = Store(setup.serving, self._new_edition)
        self.admission = Admission(KeyRing(setup.keys), setup.trusted_proxies, self.shared)
        self._clearing: asyncio.Task[None] | None = None

    def _new_edition(self) -> None:
        self._clearing = asyncio.get_running_loop().create_task(self.cache.clear())

    async def stop(self) -> None:
        """Let running queries end, close everything."""
        await self.store.stop()
        if self.shared:
            await self.shared.close()

    async def handle(self, item: Endpoint, request: Request, path_values: dict[str, str]) -> HTTPResponse:
        """Answer one request to an endpoint."""
        if request.method == "OPTIONS":
            return options()
        try:
            access = await self.admission.admit(request, item.budget)
        except ApiError as refused:
            return error(refused.status, refused.message, refused.headers)
        coding = coding_of(request.headers.get("accept-encoding", ""))
        kept = self._kept(request, access, coding)
        if kept is not None:
            return reply(request, kept, access.told.lines)
        try:
            with self.store.current() as edition:
                answer = await self._answer(item, edition, request, access, path_values, coding)
                return reply(request, answer, access.told.lines, access.in_url)
        except ApiError as wrong:
            return self._error(access, wrong.status, wrong.message, wrong.headers)
        except Unavailable as outage:
            return self._without_data(item, request, access, path_values, outage)

    def _kept(self, request: Request, access: Access, coding: str) -> Stored | None:
        """The finished answer to a URL that was asked before of this edition."""
        edition = self.store.edition
        known = edition.queries.get((request.raw_url, access.keyed)) if edition else None
        return self.cache.get(_key(known[1], coding)) if known else None

    async def _answer(
        self,
        item: Endpoint,
        edition: Edition,
        request: Request,
        access: Access,
        path_values: dict[str, str],
        coding: str,
    ) -> Stored:
        asked = (request.raw_url, access.keyed)
        known = None if access.in_url else edition.queries.get(asked)
        if known is None:
            values = read_values(item.params, path_values, access.query_string)
            query = item.resolve(values, edition, access.keyed) if item.resolve else values
            known = (query, f"{edition.edition_id}:{edition.published_ms}:{item.path}:{query!r}")
            # Not with a key in the URL: nothing needs to remember it.
            if len(edition.queries) < KNOWN_URLS and not access.in_url:
                edition.queries[asked] = known
        query, key = known

        def compute(reader: Reader) -> Stored:
            # Packed where it is made. Only what is sent is kept: hardly a body is asked in two codings.
            return coded(stored(item.answer(query, reader), item.ttl), coding)

        if item.ttl is None:
            return await self.store.execute(edition, compute)
        return await self.cache.build(_key(key, coding), partial(self.store.execute, edition, compute))

    def _without_data(
        self, item: Endpoint, request: Request, access: Access, path_values: dict[str, str], outage: Unavailable
    ) -> HTTPResponse:
        try:
            values = read_values(item.params, path_values, access.query_string)
            if item.offline:
                body = item.offline(values, outage, self.store.serving)
                return reply(request, stored(body, item.ttl), access.told.lines, access.in_url)
        except ApiError as wrong:
            return self._error(access, wrong.status, wrong.message, wrong.headers)
        state = "loading" if outage.missing else "unavailable"
        retry = {"retry-after": str(RETRY_AFTER_S)}
        return self._error(access, 503, f"the data cannot be read now: {outage}", retry, state=state)

    def _error(self, access: Access, status: int, message: str, headers: dict[str, str], **more: str) -> HTTPResponse:
        private = PRIVATE if access.in_url else {}
        return error(status, message, {**access.told.headers, **headers, **private}, **more)

    async def missing(self, request: Request, message: str) -> HTTPResponse:
        """The 404 of a path that is none."""

        async def told(private: bool) -> HTTPResponse:
            return error(404, message, PRIVATE if private else {})

        return await self._admitted(request, told)

    async def page(self, request: Request, path: Path) -> HTTPResponse:
        """A page that belongs to the server."""
        return await self._admitted(request, partial(self._file, request, path, headers=PAGE_HEADERS))

    async def guide(self, request: Request, name: str) -> HTTPResponse:
        """A page or a file of the guide."""

        async def found(private: bool) -> HTTPResponse:
            # Rendered at the first request, beside those that run.
            body = (await asyncio.to_thread(guide)).get(unquote(name))
            if body is None:
                message = f"the guide has no page {shown(unquote(name))}; /guide/ lists its pages"
                return error(404, message, PRIVATE if private else {})
            if not name and not request.path.endswith("/"):
                return redirect("/guide/", status=308)
            coding = coding_of(request.headers.get("accept-encoding", ""))

            async def make() -> Stored:
                return await asyncio.to_thread(lambda: coded(stored(body, GUIDE_TTL_S), coding))

            answer = await self.cache.build(_key(f"guide:{name}", coding), make, local=True)
            return reply(request, answer, private=private)

        return await self._admitted(request, found)

    async def _admitted(
        self, request: Request, answer: Callable[[bool], Coroutine[Any, Any, HTTPResponse]]
    ) -> HTTPResponse:
        """What is not counted: the answer, kept by nobody where it is told that the URL has a key."""
        if request.method == "OPTIONS":
            return options()
        try:
            access = await self.admission.admit(request, None)
        except ApiError as refused:
            return error(refused.status, refused.message, refused.headers)
        return await answer(access.in_url)

    async def _file(
        self, request: Request, path: Path, private: bool, headers: Mapping[str, str] = MappingProxyType({})
    ) -> HTTPResponse:
        """A file as it is now, compressed once for as long as it does not change."""
        content_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        key = f"file:{path}:{(await asyncio.to_thread(path.stat)).st_mtime_ns}"
        coding = coding_of(request.headers.get("accept-encoding", ""))

        def read() -> Stored:
            plain = stored(Body(path.read_bytes(), content_type), FILE_TTL_S)
            return coded(Stored(plain.data, {**plain.headers, **headers}), coding)

        make = partial(asyncio.to_thread, read)
        return reply(request, await self.cache.build(_key(key, coding), make, local=True), private=private)

    async def site(self, request: Request, at: str, name: str) -> HTTPResponse:
        """A file of the generated documents that are served at `at`."""

        async def found(private: bool) -> HTTPResponse:
            path = await asyncio.to_thread(_inside, self.sites[at], unquote(name) or "index.html")
            if path is None:
                message = f"{at}/{name} does not exist; the documentation is generated by the pipeline"
                return error(404, message, PRIVATE if private else {})
            if not name and not request.path.endswith("/"):
                return redirect(f"{at}/", status=308)
            return await self._file(request, path, private)

        return await self._admitted(request, found)


def _key(key: str, coding: str) -> str:
    return key if coding == IDENTITY else f"{key}|{coding}"


def _inside(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError):  # names that no file can have
        return None
