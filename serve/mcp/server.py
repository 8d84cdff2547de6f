"""POST /mcp: stateless Streamable HTTP. Each POST has one message and one JSON response; there are no sessions."""

import logging
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import orjson
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from mcp_types.methods import serialize_server_result, validate_client_request
from pydantic import ValidationError
from sanic import Request
from sanic.response import HTTPResponse

from serve.contract.errors import ApiError, argument_details, nearest, quote, suggestion
from serve.contract.openapi import API_VERSION
from serve.contract.parameters import without_key
from serve.http.cache import StoredResponse
from serve.http.hosts import Hosts
from serve.http.limits import Admission
from serve.http.service import RETRY_AFTER_S, Service
from serve.mcp import modern as mcp_modern
from serve.mcp.jsonrpc import Message, RpcError, error_response, read_message, response
from serve.mcp.prompts import PROMPTS, get_prompt
from serve.mcp.resources import TEMPLATES, list_resources, read_resource
from serve.mcp.slots import Slots
from serve.mcp.statements import Statements
from serve.mcp.tool import Tool, ToolResult, envelope, unavailable
from serve.mcp.tools import TOOLS
from serve.replica.edition import Edition
from serve.replica.unavailable import Unavailable

REVISIONS = ("2025-11-25", "2025-06-18")  # newest first; the first is the response to an unknown one
MAX_REQUEST, MAX_RESULT = 32 * 1024, 1024 * 1024
# JSON-RPC reserves -32000 to -32019 for servers.
TOO_MANY, REFUSED = -32010, -32011
ALLOW = {"allow": "POST"}
FIRST_METHODS = ("initialize", "ping")
OFFERED = (
    *("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read"),
    *("prompts/list", "prompts/get"),
)
# Before the next revision it had a code of its own.
MISSING_RESOURCE = -32002
CAPABILITIES = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
    "prompts": {"listChanged": False},
}
EXPOSED = "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy"
PREFLIGHT = {
    **ALLOW,
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "Content-Type, Accept, X-API-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
    "access-control-max-age": "86400",
}
ACCEPTED = ("application/json", "application/*", "*/*")
SERVER = {"name": "tidemark", "title": "Tidemark", "version": API_VERSION}
INSTRUCTIONS = (
    "Market data of crypto derivatives, recorded every minute on many exchanges. Begin with coin_overview for a coin,"
    " market_snapshot for its markets and their ids (venue:perp|spot:SYMBOL), list_metrics for what histories there"
    " are. Times are UTC; t, ts and *_ms are epoch milliseconds. Funding is a fraction per 8 hours (times 1095 a year)."
    " null is unknown, never zero. Every result has the same envelope. status: partial means that a part of the range"
    " was not recorded, unavailable that retry_after_s seconds later is worth another try (reason says why). freshness:"
    " historical is a completed window, or one that is too old to be current (warning stale). as_of: the newest data."
    " coverage: requested and available range (start, end), gaps (start, end, venue, reason: unrecorded periods, where"
    " values are unknown and not zero), gaps_omitted, and markets: how many are in the newest bucket (n), were"
    " expected, and how many buckets lack one (incomplete). provenance: edition, source (tables), method, caveats, and"
    " page, which shows the same to people. units by field. warnings: code, message, url. Look at status, freshness"
    " and warnings before you rely on numbers. Read data.summary first; ask for a coarser step, not for many points."
)
log = logging.getLogger("tidemark.serve")


@dataclass
class Call:
    """One message with its sender's key, its revision, and the headers of its response, which an error has too."""

    request: Request
    message: Message
    key_id: str | None
    version: str
    headers: dict[str, str]
    counted: bool = False

    async def count(self, admission: Admission, budget: str) -> None:
        """Count it once; raises 429 if the budget is exceeded."""
        if not self.counted:
            self.counted = True
            rate_limit = await admission.charge(self.request, budget, self.key_id if budget == "series" else None)
            self.headers.update(rate_limit.headers)


class Mcp:
    """The endpoint of one worker. `hosts`: its public host names, in addition to those of this machine; `statements`:
    whether callers may send SQL."""

    def __init__(self, service: Service, hosts: tuple[str, ...], revision: str, statements: bool) -> None:
        self.service = service
        self.tools = {tool.name: tool for tool in TOOLS if statements or not tool.run}
        self.statements = Statements()
        self.hosts = Hosts(hosts)
        self.modern = revision == mcp_modern.REVISION
        self.slots = Slots()

    async def handle(self, request: Request, too_large: bool = False) -> HTTPResponse:
        """Answer one request of any HTTP method. `too_large`: its body was not read."""
        message: Message | None = None
        headers: dict[str, str] = {}
        try:
            self._check_sender(request, headers)
            if request.method == "OPTIONS":
                return HTTPResponse(status=204, headers={**headers, **PREFLIGHT})
            _check_http(request, too_large)
            message = read_message(request.body)
            return await self._answer(request, message, headers)
        except RpcError as error:
            failure = error
        except ApiError as error:
            code = TOO_MANY if error.status == 429 else REFUSED
            failure = RpcError(error.status, code, error.message, headers=error.headers)
        except Exception:
            log.exception("/mcp failed")
            failure = RpcError(500, INTERNAL_ERROR, "internal error")
        return error_response(failure, message.id if message else None, headers)

    def _check_sender(self, request: Request, headers: dict[str, str]) -> None:
        """Refuse requests from pages of other sites and for foreign host names (DNS rebinding), which a browser sends
        without its user's knowledge. Allowed origins get CORS headers."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not self.hosts.has(host):
            raise RpcError(403, REFUSED, f"Host {quote(host)} is not this server: see TIDEMARK_PUBLIC_HOSTS")
        if origin is not None:
            if not self.hosts.has_origin(origin):
                raise RpcError(403, REFUSED, f"Origin {quote(origin)} may not ask: see TIDEMARK_PUBLIC_HOSTS")
            headers |= {
                "access-control-allow-origin": origin,
                "access-control-expose-headers": EXPOSED,
                "vary": "Origin",
            }

    async def _answer(self, request: Request, message: Message, headers: dict[str, str]) -> HTTPResponse:
        key_id = self.service.admission.key_in_header(request)
        rate_limit = {name.lower(): value.strip() for name, value in request.headers.items()}
        version = rate_limit.get("mcp-protocol-version")
        modern = self.modern and mcp_modern.is_modern(message, version)
        revision = mcp_modern.REVISION if modern else version if version in REVISIONS else REVISIONS[0]
        asked = Call(request, message, key_id, revision, headers)
        try:
            if message.id is None or message.method != "tools/call":
                await asked.count(self.service.admission, "mcp")
            if not modern:
                self._check_version(message, version)
            if message.id is None:
                return HTTPResponse(status=202, headers=headers)
            if modern:
                mcp_modern.check(message, rate_limit)
            result = await (self._call(asked) if message.method == "tools/call" else self._result(asked))
        except RpcError as error:
            if modern:
                error.status = mcp_modern.STATUS.get(error.code, error.status)
            raise
        return response(message.id, result, headers)

    def _check_version(self, message: Message, version: str | None) -> None:
        # initialize negotiates in its body; a client without the header is an older one and is served too.
        if version is None or version in REVISIONS or message.method == "initialize":
            return
        if self.modern:
            raise mcp_modern.unsupported(version, (mcp_modern.REVISION, *REVISIONS))
        text = f"MCP-Protocol-Version {quote(version)} is not served; use one of {', '.join(REVISIONS)}"
        raise RpcError(400, INVALID_REQUEST, text, {"supported": list(REVISIONS), "requested": version})

    async def _result(self, asked: Call) -> bytes:
        """The result of a method other than tools/call."""
        self._check_params(asked)
        message = asked.message
        if message.method.endswith("/list") and message.params.get("cursor") is not None:
            allowed = "leave it out: everything is on one page"
            data = argument_details("cursor", message.params["cursor"], allowed)
            raise RpcError(200, INVALID_PARAMS, f"cursor: {allowed}", data)
        result = self._content(message, asked.version)
        if asked.version == mcp_modern.REVISION:
            result |= mcp_modern.result_fields(SERVER)
        return orjson.dumps(serialize_server_result(message.method, asked.version, result))

    def _content(self, message: Message, version: str) -> dict[str, Any]:
        server = {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}
        params, catalog = message.params, self.service.store.catalog
        match message.method:
            case "initialize":
                wanted = params["protocolVersion"]
                spoken = wanted if wanted in REVISIONS else REVISIONS[0]
                return {"protocolVersion": spoken, "serverInfo": SERVER, **server}
            case "server/discover":
                return {"supportedVersions": [mcp_modern.REVISION, *REVISIONS], **server}
            case "tools/list":
                return {"tools": [tool.definition(catalog) for tool in self.tools.values()]}
            case "resources/list":
                return {"resources": list_resources(catalog)}
            case "resources/templates/list":
                return {"resourceTemplates": TEMPLATES}
            case "resources/read":
                missing = INVALID_PARAMS if version == mcp_modern.REVISION else MISSING_RESOURCE
                return {"contents": read_resource(params["uri"], catalog, missing)}
            case "prompts/list":
                return {"prompts": [prompt.definition() for prompt in PROMPTS]}
            case "prompts/get":
                try:
                    return get_prompt(params["name"], params.get("arguments") or {})
                except ApiError as error:
                    raise _wrong_arguments(error) from None
            case _:
                return {}

    def _check_params(self, asked: Call) -> None:
        """Raises RpcError for an unknown method and for invalid parameters."""
        message = asked.message
        first = mcp_modern.FIRST_METHODS if asked.version == mcp_modern.REVISION else FIRST_METHODS
        methods = (*first, *OFFERED)
        if message.method not in methods:
            text = f"method {quote(message.method)} is not served{suggestion(message.method, methods)}"
            raise RpcError(200, METHOD_NOT_FOUND, f"{text}; there are {', '.join(methods)}")
        try:
            validate_client_request(message.method, asked.version, message.params)
        except ValidationError as error:
            worst = error.errors()[0]
            name = ".".join(map(str, worst["loc"]))
            value = None if worst["type"] == "missing" else worst["input"]
            raise RpcError(
                200, INVALID_PARAMS, f"{name}: {worst['msg']}", argument_details(name, value, worst["msg"])
            ) from None

    async def _call(self, asked: Call) -> bytes:
        """The result of a tool call. With invalid arguments it counts against the general budget of /mcp."""
        admission = self.service.admission
        try:
            self._check_params(asked)
            tool = self._tool(asked.message.params["name"])
            values = tool.read(asked.message.params.get("arguments") or {})
        except (RpcError, ApiError) as error:
            await asked.count(admission, "mcp")
            raise _wrong_arguments(error) from None
        edition = None
        try:
            with self.service.store.current() as edition:
                query = tool.resolve(values, edition, asked.key_id is not None)
                text = await self._envelope(asked, tool, query, edition)
            return _tool_result(text, False, asked.version)
        except Unavailable as outage:
            await asked.count(admission, "series")
            text = unavailable(edition, f"the data cannot be read now: {outage}", RETRY_AFTER_S)
            return _tool_result(text, True, asked.version)
        except ApiError as error:
            if error.status == 429:
                raise
            await asked.count(admission, "mcp")
            raise _wrong_arguments(error) from None

    def _tool(self, name: str) -> Tool:
        if name not in self.tools:
            off = ", which is off unless TIDEMARK_MCP_SQL is on" if name in {tool.name for tool in TOOLS} else ""
            allowed = f"use one of {', '.join(self.tools)}"
            message = f"name: there is no tool {quote(name)}{off}; {allowed}{suggestion(name, self.tools)}"
            details = argument_details("name", name, allowed, nearest(name, self.tools))
            raise RpcError(200, INVALID_PARAMS, message, details)
        return self.tools[name]

    async def _envelope(self, asked: Call, tool: Tool, query: Any, edition: Edition) -> bytes:
        """The response of this edition, computed at most twice: while it is fresh, and once it is stale. Only a call
        that computes takes a slot."""
        request, admission, cache = asked.request, self.service.admission, self.service.cache
        origin = f"{admission.clients.scheme(request)}://{request.headers['host']}"
        key = f"{edition.edition_id}:{edition.published_ms}:mcp:{tool.name}:{query!r}:{origin}"

        # What a process of its own found: whether it is stale needs no second one.
        ran: ToolResult | None = None

        async def cached(stale: bool) -> StoredResponse:
            def stored(found: ToolResult) -> StoredResponse:
                until = {} if found.fresh_until_ms is None else {"fresh-until": str(found.fresh_until_ms)}
                return StoredResponse(envelope(found, edition, stale, origin), {"cache-control": "max-age=60", **until})

            async def make() -> StoredResponse:
                nonlocal ran
                aside = tool.run(query, edition, self.statements) if tool.run and ran is None else None
                if aside is not None:
                    ran = await aside
                if ran is not None:
                    return stored(ran)
                return await self.service.store.execute(edition, lambda reader: stored(tool.answer(query, reader)))

            return await cache.build(f"{key}|stale" if stale else key, make)

        client = asked.key_id or admission.clients.name(request)
        async with self.slots.of(client) if cache.get(key) is None else nullcontext():
            await asked.count(admission, "series")
            found = await cached(stale=False)
        until = found.headers.get("fresh-until")
        if until and time.time() * 1000 > int(until):
            found = await cached(stale=True)
        return found.data


def _check_http(request: Request, too_large: bool) -> None:
    """Raises RpcError unless the request is a POST of JSON that accepts JSON."""
    if request.method != "POST":
        text = f"{request.method} is not served: there is no stream to open and no session to end; use POST"
        raise RpcError(405, INVALID_REQUEST, text, headers=ALLOW)
    if "mcp-session-id" in request.headers:
        raise RpcError(405, INVALID_REQUEST, "there are no sessions: leave Mcp-Session-Id out", headers=ALLOW)
    if without_key(request.query_string)[0]:
        raise RpcError(400, INVALID_REQUEST, "a key in the URL is not read here: send it in the header X-API-Key")
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != "application/json":
        raise RpcError(415, INVALID_REQUEST, f"Content-Type {quote(sent)} is not read; send application/json")
    wanted = [part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "*/*").split(",")]
    if not any(kind in ACCEPTED for kind in wanted):
        text = f"Accept {quote(', '.join(wanted))} cannot be met; send Accept: application/json, text/event-stream"
        raise RpcError(406, INVALID_REQUEST, text)
    if too_large or len(request.body) > MAX_REQUEST:
        raise RpcError(413, INVALID_REQUEST, f"the body is too large: at most {MAX_REQUEST} bytes are read")


def _wrong_arguments(error: RpcError | ApiError) -> RpcError:
    return error if isinstance(error, RpcError) else RpcError(200, INVALID_PARAMS, error.message, error.details)


def _tool_result(text: bytes, failed: bool, version: str) -> bytes:
    """The envelope as structured content and as text, because clients read either."""
    kind = b'"resultType":"complete",' if version == mcp_modern.REVISION else b""
    parts = (kind, orjson.dumps(text.decode()), text, b"true" if failed else b"false")
    result = b'{%b"content":[{"type":"text","text":%b}],"structuredContent":%b,"isError":%b}' % parts
    if len(result) > MAX_RESULT:
        allowed = f"the answer would be larger than {MAX_RESULT} bytes: ask for a shorter range or a coarser step"
        raise ApiError(400, allowed, details=argument_details("range", None, allowed))
    return result
