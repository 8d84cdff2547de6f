"""HTTP's part of an answer: content coding, validators, caching headers, CORS, and errors as JSON."""

import hashlib
import logging

import orjson
from sanic import Request
from sanic.exceptions import MethodNotAllowed, SanicException
from sanic.response import HTTPResponse

from serve.contract.errors import ApiError
from serve.contract.serialize import JSON, PACKED_ALREADY, Body
from serve.http.cache import Stored
from serve.http.compression import IDENTITY, MIN_PACKED, packed
from serve.http.sanic import PreparedResponse

METHODS = ("GET", "HEAD", "OPTIONS")
ALLOW = ", ".join(METHODS)
NO_STORE = "no-store"
STALE_S = 30
# A key raises what may be asked, so that the same URL may have two answers.
VARY = "Accept-Encoding, X-API-Key"
EXPOSED = (
    "ETag, Link, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
)
CORS = {"access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED}
PRIVATE = {"cache-control": "private, no-store"}
log = logging.getLogger("tidemark.serve")


def stored(body: Body, ttl: int | None) -> Stored:
    """A body as it is kept and sent without a content coding."""
    if body.ttl is not None or body.degraded:
        ttl = body.ttl
    headers = {
        "content-type": body.content_type,
        "etag": f'"{hashlib.blake2b(body.data, digest_size=12).hexdigest()}"',
        "cache-control": f"public, max-age={ttl}, stale-while-revalidate={STALE_S}" if ttl is not None else NO_STORE,
        "vary": VARY,
        **CORS,
    }
    return Stored(body.data, headers)


def coded(plain: Stored, coding: str) -> Stored:
    """The same body in a content coding; too small ones as they are."""
    if coding == IDENTITY or len(plain.data) <= MIN_PACKED or plain.headers["content-type"] in PACKED_ALREADY:
        return plain
    etag = f'{plain.headers["etag"][:-1]}-{coding}"'
    headers = {**plain.headers, "etag": etag, "content-encoding": coding}
    return Stored(packed(plain.data, coding), headers)


def reply(request: Request, answer: Stored, more: bytes = b"", private: bool = False) -> HTTPResponse:
    """200, or 304 where the client has this very body; with `more` lines of headers, kept by nobody if `private`."""
    if private:
        answer = Stored(answer.data, {**answer.headers, **PRIVATE})
    known = request.headers.get("if-none-match")
    if known is not None and _matches(known, answer.headers["etag"]):
        return PreparedResponse(304, b"", answer.unchanged_lines + more)
    return PreparedResponse(200, answer.data, answer.lines + more)


def _matches(known: str, etag: str) -> bool:
    return known.strip() == "*" or any(part.strip().removeprefix("W/") == etag for part in known.split(","))


def options() -> HTTPResponse:
    """What may be asked here, for browsers of any origin too."""
    headers = {"allow": ALLOW, "access-control-allow-methods": ALLOW, "access-control-max-age": "86400"}
    asked = {"access-control-allow-headers": "If-None-Match, X-API-Key"}
    return HTTPResponse(status=204, headers={**headers, **asked, **CORS})


def error(status: int, message: str, headers: dict[str, str] | None = None, **more: str) -> HTTPResponse:
    """The one error body: {error: message}, and beside it a state where the interface names one."""
    body = orjson.dumps({"error": message.encode("utf-8", "replace").decode(), **more})
    return HTTPResponse(body, status, {"cache-control": NO_STORE, **CORS, **(headers or {})}, JSON)


def on_exception(request: Request | None, exception: Exception) -> HTTPResponse:
    """Every exception as JSON; one that nobody meant is logged and tells the client nothing."""
    if isinstance(exception, ApiError):
        return error(exception.status, exception.message, exception.headers)
    if isinstance(exception, SanicException) and exception.status_code < 500:
        if isinstance(exception, MethodNotAllowed):
            allowed = ", ".join(sorted(exception.allowed_methods or METHODS))
            return error(405, f"method {exception.method} is not allowed here; use {allowed}", {"allow": allowed})
        return error(exception.status_code, str(exception) or "bad request")
    log.error("%s failed", request.path if request else "a request", exc_info=exception)
    return error(500, "internal error")
