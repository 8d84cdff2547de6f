"""The server: every declared endpoint on one Sanic process, each request answered from one edition."""

import asyncio
import mimetypes
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sanic import Request, Sanic
from sanic.exceptions import BadURL, NotFound
from sanic.response import HTTPResponse, redirect
from sanic.router import Router

from serve.cache import ResponseCache, Stored
from serve.db import Store
from serve.edition import Edition, Reader
from serve.endpoint import Endpoint, all_endpoints
from serve.errors import ApiError, Unavailable, closest, shown
from serve.params import read_values
from serve.replies import METHODS, coding_of, compressed, error, on_exception, options, reply, stored
from serve.shape import Body

KNOWN_URLS = 20_000  # URLs per edition whose canonical query is remembered
RETRY_AFTER_S = 5
# Encoded characters that RFC 3986 6.2.2.2 equates with the plain ones: letters, digits and -._~
UNRESERVED = re.compile(r"%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")


class PlainPathRouter(Router):
    """Sanic's router, for which /api/%6Darkets is /api/markets."""

    def _get(self, path: str, method: str, host: str | None) -> Any:
        return super()._get(UNRESERVED.sub(lambda match: unquote(match[0]), path), method, host)


class AnyUrlRequest(Request):
    """A request whose URL need not parse: Sanic answers one that does not by closing the connection."""

    __slots__ = ()

    def __init__(self, url_bytes: bytes, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(url_bytes, *args, **kwargs)
        except BadURL:
            super().__init__(b"*", *args, **kwargs)


class Service:
    """What all requests share: the followed replica and the finished responses of its edition."""

    def __init__(self, serving: Path) -> None:
        self.cache = ResponseCache()
        self.store = Store(serving, self._new_edition)
        self._clearing: asyncio.Task[None] | None = None

    def _new_edition(self) -> None:
        self._clearing = asyncio.get_running_loop().create_task(self.cache.clear())

    async def handle(self, item: Endpoint, request: Request, path_values: dict[str, str]) -> HTTPResponse:
        """Answer one request to an endpoint."""
        if request.method == "OPTIONS":
            return options()
        coding = coding_of(request.headers.get("accept-encoding", ""))
        try:
            with self.store.current() as edition:
                return reply(request, await self._answer(item, edition, request, path_values, coding))
        except ApiError as wrong:
            return error(wrong.status, wrong.message, wrong.headers)
        except Unavailable as outage:
            return self._without_data(item, request, path_values, outage)

    async def _answer(
        self, item: Endpoint, edition: Edition, request: Request, path_values: dict[str, str], coding: str
    ) -> Stored:
        known = edition.queries.get(request.raw_url)
        if known is None:
            values = read_values(item.params, path_values, request.query_string)
            query = item.resolve(values, edition) if item.resolve else values
            known = (query, f"{edition.edition_id}:{edition.as_of_ms}:{item.path}:{query!r}")
            if len(edition.queries) < KNOWN_URLS:
                edition.queries[request.raw_url] = known
        query, key = known

        def compute(reader: Reader) -> Stored:
            return stored(item.answer(query, reader), item.ttl)

        async def plain() -> Stored:
            return await self.store.execute(edition, compute)

        async def packed() -> Stored:
            return await asyncio.to_thread(compressed, await self.cache.build(key, plain))

        if item.ttl is None:
            return await plain()
        if coding == "gzip":
            return await self.cache.build(key + "|gzip", packed)
        return await self.cache.build(key, plain)

    def _without_data(
        self, item: Endpoint, request: Request, path_values: dict[str, str], outage: Unavailable
    ) -> HTTPResponse:
        try:
            values = read_values(item.params, path_values, request.query_string)
            if item.offline:
                return reply(request, stored(item.offline(values, outage), item.ttl))
        except ApiError as wrong:
            return error(wrong.status, wrong.message, wrong.headers)
        state = "loading" if outage.missing else "unavailable"
        return error(503, f"the data cannot be read now: {outage}", {"retry-after": str(RETRY_AFTER_S)}, state=state)

    async def file(self, request: Request, at: str, folder: Path | None, name: str) -> HTTPResponse:
        """A file of the generated documentation that is served at `at`."""
        if request.method == "OPTIONS":
            return options()
        path = await asyncio.to_thread(_inside, folder, unquote(name) or "index.html")
        if path is None:
            return error(404, f"{at}/{name} does not exist; the documentation is generated by the pipeline")
        if not name and not request.path.endswith("/"):
            return redirect(f"{at}/", status=308)
        content_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        key = f"file:{path}:{path.stat().st_mtime_ns}"

        async def plain() -> Stored:
            return stored(Body(await asyncio.to_thread(path.read_bytes), content_type), 60)

        async def packed() -> Stored:
            return await asyncio.to_thread(compressed, await plain())

        if coding_of(request.headers.get("accept-encoding", "")) == "gzip":
            return reply(request, await self.cache.build(key + "|gzip", packed))
        return reply(request, await self.cache.build(key, plain))


def _inside(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError):  # names that no file can have
        return None


def create_app(serving: Path, docs: Path | None = None, quality: Path | None = None) -> Sanic[Any, Any]:
    """The application on the replica folder `serving`, with dbt docs at /dbt/ and the quality report at /quality/."""
    app: Sanic[Any, Any] = Sanic(
        "tidemark", router=PlainPathRouter(), request_class=AnyUrlRequest, configure_logging=False
    )
    app.config.REQUEST_MAX_SIZE = 65_536
    app.config.GRACEFUL_SHUTDOWN_TIMEOUT = 10.0
    service = Service(serving)
    app.ctx.service = service
    app.error_handler.add(Exception, on_exception)
    paths = []
    for item in all_endpoints():
        _route(app, service, item)
        paths.append(item.path)

    for at, folder in (("/dbt", docs), ("/quality", quality)):
        _route_files(app, service, at, folder)

    @app.exception(NotFound)
    async def unknown_path(request: Request, _: NotFound) -> HTTPResponse:
        return error(404, f"there is no {shown(request.path)}; GET / lists what there is{closest(request.path, paths)}")

    @app.before_server_start
    async def start(_: Sanic[Any, Any]) -> None:
        await service.store.start()

    @app.after_server_stop
    async def stop(_: Sanic[Any, Any]) -> None:
        await service.store.stop()

    return app


def _route(app: Sanic[Any, Any], service: Service, item: Endpoint) -> None:
    async def handle(request: Request, **path_values: str) -> HTTPResponse:
        return await service.handle(item, request, path_values)

    uri = re.sub(r"{(\w+)}", r"<\1:str>", item.path)
    app.add_route(handle, uri, methods=METHODS, name=item.name, unquote=True)


def _route_files(app: Sanic[Any, Any], service: Service, at: str, folder: Path | None) -> None:
    async def file(request: Request, name: str = "") -> HTTPResponse:
        return await service.file(request, at, folder, name)

    for uri in (at, f"{at}/<name:path>"):
        app.add_route(file, uri, methods=METHODS, name=f"{at[1:]}_files{uri.count('<')}")


def run_server(serving: Path, host: str, port: int, docs: Path | None = None, quality: Path | None = None) -> None:
    """Serve until SIGTERM or SIGINT; running requests end first.

    One process: DuckDB is not fork-safe and a cache a worker would divide what they share. More hosts are more copies.
    """
    create_app(serving, docs, quality).run(host=host, port=port, single_process=True, access_log=False, motd=False)
