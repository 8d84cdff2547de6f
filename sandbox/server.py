"""The sandbox server: one process serves all simulated venues at `/<host>/<real path>`, over HTTP and WebSocket."""

import asyncio
import itertools
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import uvloop
from sanic import Sanic
from sanic.request import Request
from sanic.response import HTTPResponse

from sandbox.http import admin
from sandbox.http.dispatch import Sandbox, http_route, replay_route
from sandbox.http.faults import Faults
from sandbox.http.limits import Limits
from sandbox.http.replay import load_replay
from sandbox.http.sockets import add_replay_sockets, add_simulated_sockets
from sandbox.http.streams import Hub
from sandbox.market.clock import Clock
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.venues import SIMULATED_VENUES

App = Sanic[Any, Any]
Mode = Literal["simulate", "replay"]
_names = (f"sandbox-{number}" for number in itertools.count(1))


def create_app(
    mode: Mode = "simulate",
    universe: str = "small",
    seed: int = 1,
    replay_dir: Path | None = None,
    start_ms: int | None = None,
    now_ms: int | None = None,
    rate_limits: bool = True,
) -> App:
    """The simulated venues as a Sanic app; its state is `app.ctx.sandbox`.

    Times are UTC epoch ms. The clock is the wall clock, continues from `start_ms`, or is fixed at `now_ms`;
    `/_sandbox/clock` changes it.
    """
    clock = Clock(fixed_ms=now_ms)
    if start_ms is not None:
        clock.set({"start_ms": start_ms})
    if mode == "replay":
        if replay_dir is None:
            raise ValueError("replay needs a folder with a replay.json")
        world, replay = None, load_replay(replay_dir)
    else:
        world, replay = build_world(build_universe(universe), seed, clock), None
    app: App = Sanic(next(_names))
    app.config.ACCESS_LOG = False
    app.config.MOTD = False
    app.config.TOUCHUP = False  # rewrites Sanic's source, which works for one app a process; tests start many
    app.config.FALLBACK_ERROR_FORMAT = "json"
    app.config.KEEP_ALIVE_TIMEOUT = 75
    app.config.WEBSOCKET_PING_INTERVAL = 180  # as several venues do: a ping every three minutes, ten to reply
    app.config.WEBSOCKET_PING_TIMEOUT = 600
    hub = Hub(world, clock, {one.venue: one.frames for one in SIMULATED_VENUES if one.frames is not None})
    pools = {name: pool for one in SIMULATED_VENUES for name, pool in one.pools.items()}
    venues = {one.venue: one for one in SIMULATED_VENUES}
    sandbox = Sandbox(venues, clock, Faults(), Limits(pools, rate_limits), hub, world, replay)
    app.ctx.sandbox = sandbox
    admin.add_routes(app, sandbox, mode)
    if world is not None:
        for one in SIMULATED_VENUES:
            for number, endpoint in enumerate(one.endpoints(world)):
                app.add_route(
                    http_route(sandbox, endpoint),
                    f"/{endpoint.host}{endpoint.path}",
                    methods=[endpoint.method],
                    name=f"{endpoint.venue}_{number}",
                    # Without a format, Sanic parses the handler's source for each of the routes to find one.
                    error_format="json",
                )
        add_simulated_sockets(app, sandbox)
    else:
        add_replay_sockets(app, sandbox)
        app.add_route(replay_route(sandbox), "/<path:path>", methods=["GET", "POST"], name="replay", unquote=True)

    async def start(_: App) -> None:
        hub.start()

    async def stop(_: App) -> None:
        hub.stop()

    app.register_listener(start, "after_server_start")
    app.register_listener(stop, "before_server_stop")

    async def refuse(request: Request[Any, Any]) -> HTTPResponse | None:
        return sandbox.refuse_socket(request)

    app.register_middleware(refuse, "request")
    return app


@asynccontextmanager
async def serving(app: App, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve the app inside the running event loop; gives its base URL."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    server: Any = await app.create_server(sock=listener, access_log=False)
    await server.startup()
    await server.before_start()
    await server.after_start()
    await server.start_serving()
    try:
        yield f"http://{host}:{listener.getsockname()[1]}"
    finally:
        await server.before_stop()
        await server.close()
        await server.after_stop()
        Sanic.unregister_app(app)


def run_sandbox(
    host: str,
    port: int,
    mode: Mode,
    universe: str,
    seed: int,
    replay_dir: Path | None,
    start_ms: int | None = None,
    rate_limits: bool = True,
) -> None:
    """Serve until SIGINT or SIGTERM, in this process.

    ReplayError, ValueError and a busy port's OSError come before anything is served.
    """
    app = create_app(mode, universe, seed, replay_dir, start_ms, rate_limits=rate_limits)
    app.config.TOUCHUP = True  # one app a process here: Sanic removes the dispatch of signals that nobody uses

    async def serve() -> None:
        # Not Sanic's own runner: it can lose a signal that comes while the server is still starting.
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        async with serving(app, host, port):
            await ended.wait()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
