"""From an HTTP request to a venue's response: faults first, then rate limits, then the simulated or recorded body."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
from sanic.request import Request as SanicRequest
from sanic.response import HTTPResponse

from sandbox.http.faults import Fault, Faults, changed_field, hostile, refused
from sandbox.http.limits import Limits
from sandbox.http.replay import Replay
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.http.streams import Hub
from sandbox.market.clock import Clock
from sandbox.market.world import World
from sandbox.wire.endpoint import Endpoint, Request, Response

Handler = Callable[..., Coroutine[Any, Any, HTTPResponse]]


@dataclass(slots=True, eq=False)
class Sandbox:
    """The state of a running sandbox: simulated venues by name; `world` in simulate mode, `replay` in replay mode."""

    venues: Mapping[str, SimulatedVenue]
    clock: Clock
    faults: Faults
    limits: Limits
    hub: Hub
    world: World | None
    replay: Replay | None
    venue_of: dict[str, str] = field(init=False)  # by host

    def __post_init__(self) -> None:
        self.venue_of = {host: one.venue for one in self.venues.values() for host in one.hosts}

    def split(self, path: str) -> tuple[str | None, str, str]:
        """(venue, host, path) of a request path; a bare path has neither venue nor host."""
        first, _, rest = path.lstrip("/").partition("/")
        if "." not in first:
            return None, "", path
        return self.venue_of.get(first), first, "/" + rest

    def refuse_socket(self, request: SanicRequest[Any, Any]) -> HTTPResponse | None:
        """Reset a WebSocket connection before its handshake while a fault requires it."""
        if "upgrade" not in request.headers or not self.faults.active:
            return None
        venue, host, path = self.split(request.path)
        for fault in self.faults.on(venue or "", host, path):
            if fault.kind == "outage" or (fault.kind == "ws_drop" and fault.options.get("refuse")):
                return cut_off(request)
        return None


def cut_off(request: SanicRequest[Any, Any]) -> HTTPResponse:
    """Reset the connection; the response goes nowhere."""
    transport(request).abort()
    return HTTPResponse(status=503)


def transport(request: SanicRequest[Any, Any]) -> asyncio.Transport:
    """The connection of a request; Sanic declares a narrower type than asyncio."""
    return cast(asyncio.Transport, request.transport)


def _parsed(request: SanicRequest[Any, Any]) -> Any:
    try:
        return orjson.loads(request.body) if request.body else None
    except orjson.JSONDecodeError:
        return None


async def _response_of_fault(request: SanicRequest[Any, Any], faults: list[Fault]) -> HTTPResponse | None:
    for fault in faults:
        if fault.kind == "slow":
            await asyncio.sleep(float(fault.options.get("delay_s", 5)))
        if fault.kind == "outage":
            return cut_off(request)
        if (response := refused(fault)) is not None:
            return _response(response, {})
    return None


def _response(response: Response, headers: dict[str, str]) -> HTTPResponse:
    return HTTPResponse(response.body, response.status, {**response.headers, **headers}, response.content_type)


def _spoiled(
    request: SanicRequest[Any, Any], response: Response, headers: dict[str, str], faults: list[Fault]
) -> HTTPResponse:
    body = response.body
    for fault in faults:
        if fault.kind == "changed_field":
            body = changed_field(fault, body)
        if fault.kind == "hostile":
            body = hostile(fault, body)
        if fault.kind == "truncated":
            kept = body[: int(len(body) * float(fault.options.get("at", 0.5)))]
            if fault.options.get("cut"):
                head = f"HTTP/1.1 {response.status} OK\r\ncontent-type: application/json\r\n"
                head += f"content-length: {len(body)}\r\n\r\n"
                transport(request).write(head.encode() + kept)
                transport(request).close()
            body = kept
    return HTTPResponse(body, response.status, {**response.headers, **headers}, response.content_type)


def http_route(sandbox: Sandbox, endpoint: Endpoint) -> Handler:
    """The Sanic handler of one simulated endpoint; placeholders of its path become parameters of the query."""
    venue = sandbox.venues[endpoint.venue]
    pool = sandbox.limits.pools[endpoint.pool]

    async def route(request: SanicRequest[Any, Any], **placeholders: str) -> HTTPResponse:
        path = sandbox.split(request.path)[2] if placeholders else endpoint.path
        faults = sandbox.faults.on(endpoint.venue, endpoint.host, path)
        if faults and (early := await _response_of_fault(request, faults)) is not None:
            return early
        now_ms = sandbox.clock.now_ms()
        if (use := sandbox.limits.exceeded(endpoint.pool, request.ip, now_ms)) is not None:
            return _response(venue.refusal(use, pool, now_ms), {})
        query = dict(parse_qsl(request.query_string, keep_blank_values=True)) | placeholders
        body = _parsed(request) if endpoint.method == "POST" else None
        response = endpoint.respond(Request(query, body, now_ms, request.headers))
        weight = endpoint.weight if response.weight is None else response.weight
        headers = venue.headers(endpoint.pool, sandbox.limits.charge(endpoint.pool, request.ip, now_ms, weight))
        headers |= {"Date": formatdate(now_ms / 1000, usegmt=True)}
        return _spoiled(request, response, headers, faults) if faults else _response(response, headers)

    return route


def replay_route(sandbox: Sandbox) -> Handler:
    """The Sanic handler of everything recorded."""
    assert sandbox.replay is not None
    replay = sandbox.replay

    async def route(request: SanicRequest[Any, Any], path: str) -> HTTPResponse:
        venue, host, path = sandbox.split("/" + path)
        query = dict(parse_qsl(request.query_string, keep_blank_values=True))
        body = _parsed(request)
        found = replay.find(venue, request.method, path, query, body)
        venue = found.venue if found else venue
        faults = sandbox.faults.on(venue or "", host, path)
        if faults and (early := await _response_of_fault(request, faults)) is not None:
            return early
        response = found.response if found else replay.missing(venue, request.method, path, query, body)
        return _spoiled(request, response, {}, faults)

    return route
