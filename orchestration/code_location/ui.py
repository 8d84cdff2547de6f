"""Dagster's UI, for the pages of this machine alone: `python -m orchestration.code_location.ui`, with the arguments and
variables of dagster-webserver, and TIDEMARK_PUBLIC_HOSTS.

The UI has no login and starts runs. Without these checks any website that its user visits could make the user's browser
send requests to it, by a name that points to this machine (DNS rebinding) or by a form.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dagster_webserver import app as webserver_app
from dagster_webserver.cli import create_dagster_webserver_cli
from dagster_webserver.webserver import DagsterWebserver
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

from orchestration.config.settings import Settings
from serve.http.hosts import Hosts

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]


class OwnPagesOnly:
    """ASGI middleware that refuses foreign host names, and requests that pages of other sites make."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], hosts: Hosts) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin")
            for name, text, ours in (
                ("Host", host, self.hosts.has(host)),
                ("Origin", origin, origin is None or self.hosts.has_origin(origin)),
            ):
                if not ours:
                    refusal = f"{name} {text!r} is not this server: see TIDEMARK_PUBLIC_HOSTS\n"
                    await PlainTextResponse(refusal, status_code=403)(scope, receive, send)
                    return
        await self.app(scope, receive, send)


class GuardedWebserver(DagsterWebserver):  # type: ignore[type-arg]
    """Dagster's own application behind the check."""

    def build_middleware(self) -> list[Middleware]:
        """The check comes first."""
        own: list[Middleware] = super().build_middleware()
        return [Middleware(OwnPagesOnly, hosts=Hosts(Settings.from_env().public_hosts)), *own]


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    # Dagster has no setting for middleware. An upgrade that makes the application elsewhere fails this module's test.
    webserver_app.DagsterWebserver = GuardedWebserver  # type: ignore[attr-defined]
    cli: Callable[..., None] = create_dagster_webserver_cli()  # type: ignore[no-untyped-call]
    cli(auto_envvar_prefix="DAGSTER_WEBSERVER")


if __name__ == "__main__":
    main()
