"""The Sanic application: endpoints, MCP tools and pages; each response comes from one edition."""

import asyncio
import gc
import re
import resource
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from sanic import Request, Sanic
from sanic.exceptions import MethodNotAllowed, NotFound, PayloadTooLarge, SanicException
from sanic.response import HTTPResponse
from sanic.worker.loader import AppLoader

from serve.contract.endpoint import Endpoint
from serve.contract.errors import quote, suggestion
from serve.discovery import DOCUMENTS
from serve.endpoints import all_endpoints
from serve.http.metrics import UNKNOWN, share
from serve.http.responses import METHODS, error_response, on_exception, wants_page
from serve.http.sanic import NormalizedRequest, Server, end_aside
from serve.http.service import Service, Setup
from serve.operated import alive, metrics, ready
from serve.pages.pages import FILES_AT, FORMS, VIEWS

MCP_PATH = "/mcp"
CLIENT_LEFT = 499  # as nginx counts it: no response was sent
OPERATED = {"/healthz": alive, "/readyz": ready, "/metrics": metrics}
# How long the head and body of a request may take, and how long a connection may wait for the next one.
HEADERS_S, IDLE_S = 10, 75


def bare_app(name: str) -> Sanic[Any, Any]:
    """A Sanic application with this server's settings and no routes."""
    app = Server(name, request_class=NormalizedRequest, configure_logging=False)
    app.config.REQUEST_MAX_SIZE = 65_536
    app.config.GRACEFUL_SHUTDOWN_TIMEOUT = 10.0
    # Sanic's minute and two are many connections of one client that sends nothing. A reverse proxy must keep its own
    # connections for less long than this, or it sends a request to one that is just being closed.
    app.config.REQUEST_TIMEOUT, app.config.KEEP_ALIVE_TIMEOUT = HEADERS_S, IDLE_S
    app.error_handler.add(Exception, on_exception)

    @app.before_server_start
    async def listen(app: Server) -> None:
        app.listen_to_signals()

    return app


def create_app(setup: Setup) -> Sanic[Any, Any]:
    """The application: the endpoints, the MCP tools at /mcp, the pages of the explorer, dbt docs at /dbt/, the quality
    report at /quality/, the API's reference at /docs, the guide at /guide/."""
    app = bare_app("tidemark")
    paths = [*VIEWS, "/docs", "/guide/", "/dbt/", "/quality/", *OPERATED, *DOCUMENTS, MCP_PATH]
    for item in all_endpoints():
        _route(app, item)
        paths.append(item.path)
    for at in ("/dbt", "/quality"):
        for uri in (at, f"{at}/<name:path>"):
            _add(app, partial(_site_file, at=at), uri, name=f"site-{at[1:]}-{uri.count('<')}")
    for uri in ("/guide", "/guide/<name:path>"):
        _add(app, _guide_page, uri, name=f"guide-{uri.count('<')}")
    # A name in braces at the end takes them along.
    with_requests = (f"{uri}.{form}" for uri in ("/index", *VIEWS) for form in FORMS if not uri.endswith(("/", "}")))
    for uri in (*VIEWS, *with_requests):
        if uri != "/":  # Where the API has its list, which `_route` adds.
            _add(app, _view, re.sub(r"{(\w+)}", r"<\1:str>", uri), name=f"view-{re.sub('[^a-z]+', '-', uri[1:])}")
    _add(app, _reference, "/docs", name="reference")
    for uri, operated in OPERATED.items():
        _add(app, operated, uri, name=f"operated-{uri[1:]}")
    for uri, document in DOCUMENTS.items():
        _add(app, document, uri, name=f"document-{re.sub('[^a-z]+', '-', uri[1:])}")
    _add(app, _page_file, f"{FILES_AT}<name:path>", name="page-file")

    async def mcp(request: Request, too_large: bool = False) -> HTTPResponse:
        ctx = request.app.ctx
        if ctx.mcp is None:
            created = await asyncio.to_thread(_mcp, ctx.service, setup)
            ctx.mcp = ctx.mcp or created
        answer: HTTPResponse = await ctx.mcp.handle(request, too_large)
        return answer

    _add(app, mcp, MCP_PATH, methods=("POST", "OPTIONS"), name="mcp")

    @app.exception(MethodNotAllowed, PayloadTooLarge)
    async def error_before_handler(request: Request, exception: SanicException) -> HTTPResponse:
        # Errors of /mcp are JSON-RPC, also those that Sanic raises before the handler runs.
        if request.path.rstrip("/") == MCP_PATH:
            return await mcp(request, isinstance(exception, PayloadTooLarge))
        return on_exception(request, exception)

    @app.exception(NotFound)
    async def unknown_path(request: Request, _: NotFound) -> HTTPResponse:
        if isinstance(request, NormalizedRequest) and request.unparsed:
            sent = quote(request.unparsed.decode(errors="replace"))
            return error_response(400, f"{sent} is not a URL; send a path, as GET /api/markets")
        message = f"there is no {quote(request.path)}; GET / lists what there is{suggestion(request.path, paths)}"
        service: Service = request.app.ctx.service
        response = await service.not_found(request, message)
        service.metrics.count(UNKNOWN, response.status, None)
        return response

    @app.before_server_start
    async def start(app: Sanic[Any, Any]) -> None:
        # Not earlier: DuckDB is not fork-safe, and each worker opens its own.
        app.ctx.service = Service(setup)
        app.ctx.mcp = None
        await app.ctx.service.store.start()
        # What exists now stays: each collection of it would stop all requests for a tenth of a second.
        gc.collect()
        gc.freeze()

    @app.before_server_stop
    async def end_connections(app: Sanic[Any, Any]) -> None:
        app.ctx.service.followers.end()

    @app.after_server_stop
    async def stop(app: Sanic[Any, Any]) -> None:
        await app.ctx.service.stop()

    return app


def _mcp(service: Service, setup: Setup) -> Any:
    # Imported at the first use, in a thread: importing the protocol's types takes as long as all other imports.
    from serve.mcp.server import Mcp

    return Mcp(service, setup.public_hosts, setup.mcp_revision, setup.mcp_sql)


def _route(app: Sanic[Any, Any], item: Endpoint) -> None:
    has_page = item.path in VIEWS

    async def handle(request: Request, **path_values: str) -> HTTPResponse | None:
        service: Service = request.app.ctx.service
        if has_page and wants_page(request):
            return await service.view(request)
        answer = service.send if item.sent else service.follow if item.followed else service.handle
        return await answer(item, request, path_values)

    uri = re.sub(r"{(\w+)}", r"<\1:str>", item.path)
    _add(app, handle, uri, name=item.name, unquote=True)


def _add(
    app: Sanic[Any, Any], handler: Any, uri: str, name: str, methods: Sequence[str] = METHODS, unquote: bool = False
) -> None:
    label = re.sub(r"<(\w+):\w+>", r"{\1}", uri)

    async def counted(request: Request, **path_values: str) -> HTTPResponse | None:
        began, status = time.perf_counter(), 500
        try:
            response: HTTPResponse | None = await handler(request, **path_values)
            status = response.status if response else 200
            return response
        except asyncio.CancelledError:
            status = CLIENT_LEFT
            raise
        finally:
            service: Service = request.app.ctx.service
            # A followed response ends when its client leaves.
            service.metrics.count(label, status, time.perf_counter() - began if status != 200 or response else None)

    # Errors are our own handler's. Without a format, Sanic parses the source of each handler to find one.
    app.add_route(counted, uri, methods=methods, name=name, unquote=unquote, error_format="json")


async def _site_file(request: Request, at: str, name: str = "") -> HTTPResponse:
    service: Service = request.app.ctx.service
    return await service.site(request, at, name)


async def _guide_page(request: Request, name: str = "") -> HTTPResponse:
    service: Service = request.app.ctx.service
    return await service.guide(request, name)


async def _view(request: Request, **_: str) -> HTTPResponse:
    service: Service = request.app.ctx.service
    return await service.view(request)


async def _reference(request: Request) -> HTTPResponse:
    service: Service = request.app.ctx.service
    return await service.reference(request)


async def _page_file(request: Request, name: str) -> HTTPResponse:
    service: Service = request.app.ctx.service
    return await service.page_file(request, name)


def run_server(setup: Setup, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT, after which running requests end first.

    One worker runs in this process. Several run in processes of their own behind one port, and share request counters
    and cached responses in Redis.
    """
    # Each connection is a file: the usual limit of a process is meant for programs that wait with select().
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if setup.workers == 1:
        create_app(setup).run(host=host, port=port, single_process=True, access_log=False, motd=False)
        return
    if not setup.redis_url:
        raise ValueError("several workers need Redis: each would count requests by itself")
    Sanic.start_method = "spawn"
    share()
    loader = AppLoader(factory=partial(create_app, setup))
    app = loader.load()

    @app.main_process_ready
    async def ready(app: Sanic[Any, Any]) -> None:
        end_aside(app.manager)

    app.prepare(host=host, port=port, workers=setup.workers, access_log=False, motd=False)
    Sanic.serve(primary=app, app_loader=loader)
