"""For programs that look for an API: /llms.txt, /server.json (for the MCP registry), /.well-known/api-catalog (RFC
9727), /.well-known/security.txt."""

import re
import time
from datetime import UTC, datetime

from sanic import Request
from sanic.response import HTTPResponse

from serve.contract.openapi import API_VERSION
from serve.contract.serialize import PLAIN, Body, json_body
from serve.endpoints import all_endpoints
from serve.guide.guide import guide_pages
from serve.http.responses import PRIVATE, error_response, make_response, respond
from serve.http.service import Service
from serve.replica.units import DAY_MS

CATALOG_AT = "/.well-known/api-catalog"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
OPENAPI = "application/vnd.oai.openapi+json;version=3.1"
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# A registry lists a server under a name of its owner: that of the host, from its end.
DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]")
TTL_S = 3600
# RFC 9116 wants a time that is less than a year away.
CONTACT_DAYS = 180
SUMMARY = """\
# Tidemark

> Market data of crypto derivatives, recorded every minute on many exchanges: prices, open interest, funding,
> liquidations, positioning, order books, options. Served as JSON, CSV, Parquet and Arrow, and as tools over MCP.

Reading needs no account. Times are UTC, in the API as epoch milliseconds. `null` is unknown, never zero: responses list
the periods that were not recorded. Funding is a fraction per 8 hours. A market is `venue:perp|spot:SYMBOL`, with the
exchange's own symbol; `/api/instruments` lists them. An agent with MCP uses the tools at `/mcp` (POST, Streamable
HTTP), whose results say how complete and how old they are.

## Start

- [What a request may say](/openapi.json): every endpoint as OpenAPI 3.1
- [Metrics](/api/metrics): what each means, its unit, and how it can be requested
- [State](/api/status): the age of the data, and the state of each exchange
"""


async def llms(request: Request) -> HTTPResponse:
    """The documents and endpoints, as Markdown for language models."""

    async def answer(private: bool) -> HTTPResponse:
        return respond(request, make_response(Body(_llms().encode(), PLAIN), TTL_S), private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer)


def _llms() -> str:
    pages = [f"- [{page.title}]({page.path})" for page in guide_pages()]
    # A path with a parameter is no link.
    listed = [f"- `GET {one.path}`: {one.summary}" for one in sorted(all_endpoints(), key=lambda one: one.path)]
    return "\n".join([SUMMARY, "## Guide", "", *pages, "", "## Endpoints", "", *listed, ""])


async def api_catalog(request: Request) -> HTTPResponse:
    """The API and what describes it, as links."""

    async def answer(private: bool) -> HTTPResponse:
        origin = _origin(request)
        links = {
            "service-desc": (("/openapi.json", OPENAPI),),
            "service-doc": (("/docs", "text/html"), ("/guide/", "text/html"), ("/llms.txt", "text/plain")),
            "status": (("/api/status", "application/json"),),
            "item": (("/mcp", "application/json"),),
        }
        listed = {
            relation: [{"href": origin + path, "type": kind} for path, kind in found]
            for relation, found in links.items()
        }
        body = json_body({"linkset": [{"anchor": f"{origin}/", **listed}]}, vary=("Host",))
        stored = make_response(Body(body.data, LINKSET, vary=body.vary, link=CATALOG_LINK), TTL_S)
        return respond(request, stored, private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer)


def _origin(request: Request) -> str:
    """Scheme and host by which this was asked for."""
    service: Service = request.app.ctx.service
    return f"{service.admission.clients.scheme(request)}://{request.headers.get('host', '')}"


async def server_json(request: Request) -> HTTPResponse:
    """The MCP server as its registry lists it, under the host's name."""

    async def answer(private: bool) -> HTTPResponse:
        name = request.headers.get("host", "").lower().partition(":")[0]
        if not DOMAIN.fullmatch(name):
            message = f"a registry lists servers by the name of a domain, which {name or 'no host'} is not: ask by one"
            return error_response(404, message, PRIVATE if private else {})
        origin = _origin(request)
        listed = {
            "$schema": SERVER_SCHEMA,
            "name": f"{'.'.join(reversed(name.split('.')))}/tidemark",
            "title": "Tidemark",
            "description": "Crypto derivatives of many exchanges, recorded every minute: honest about what is unknown.",
            "version": API_VERSION,
            "websiteUrl": f"{origin}/",
            "remotes": [{"type": "streamable-http", "url": f"{origin}/mcp"}],
        }
        return respond(request, make_response(json_body(listed, vary=("Host",)), TTL_S), private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer)


async def security(request: Request) -> HTTPResponse:
    """Whom to write to about a vulnerability, as RFC 9116 has it."""

    async def answer(private: bool) -> HTTPResponse:
        contact = service.security_contact
        if not contact:
            message = "nobody is named for security: the operator sets TIDEMARK_SECURITY_CONTACT"
            return error_response(404, message, PRIVATE if private else {})
        day_ms = time.time_ns() // 1_000_000 // DAY_MS * DAY_MS + CONTACT_DAYS * DAY_MS
        expires = datetime.fromtimestamp(day_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = f"Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\n"
        return respond(request, make_response(Body(text.encode(), PLAIN), TTL_S), private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer)


CATALOG_LINK = f'<{CATALOG_AT}>; rel="api-catalog"'
DOCUMENTS = {
    "/llms.txt": llms,
    "/server.json": server_json,
    CATALOG_AT: api_catalog,
    "/.well-known/security.txt": security,
}
