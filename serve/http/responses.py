"""Responses as HTTP sends them: content encoding, ETags, caching headers, CORS, and errors as JSON."""

import hashlib
import logging
from collections.abc import Mapping

import orjson
from sanic import Request
from sanic.exceptions import MethodNotAllowed, SanicException
from sanic.response import HTTPResponse

from serve.contract.errors import ApiError
from serve.contract.serialize import COMPRESSED_TYPES, JSON, Body
from serve.http.cache import StoredResponse
from serve.http.compression import IDENTITY, LEVELS, MIN_COMPRESSED_BYTES, compress
from serve.http.sanic import PreparedResponse

METHODS = ("GET", "HEAD", "OPTIONS")
ALLOW = ", ".join(METHODS)
NO_STORE = "no-store"
STALE_S = 30
# An API key raises limits, so that the same URL may have two responses.
VARY = ("Accept-Encoding", "X-API-Key")
EXPOSED = (
    "Accept-Ranges, Content-Range, ETag, Link, Retry-After, RateLimit, RateLimit-Policy, X-Edition, "
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
)
CORS = {"access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED}
PRIVATE = {"cache-control": "private, no-store"}
log = logging.getLogger("tidemark.serve")


def make_response(body: Body, ttl: int | None, edition_id: int | None = None) -> StoredResponse:
    """The uncompressed response of a body, and of the edition that it comes from."""
    if body.ttl is not None or body.degraded:
        ttl = body.ttl
    headers = {
        "content-type": body.content_type,
        "etag": f'"{hashlib.blake2b(body.data, digest_size=12).hexdigest()}"',
        "cache-control": f"public, max-age={ttl}, stale-while-revalidate={STALE_S}" if ttl is not None else NO_STORE,
        "vary": ", ".join((*body.vary, *VARY)),
        **({"link": body.link} if body.link else {}),
        **CORS,
        **of_edition(edition_id),
    }
    return StoredResponse(body.data, headers)


def of_edition(edition_id: int | None) -> dict[str, str]:
    """The header that names the edition which a response comes from."""
    return {} if edition_id is None else {"x-edition": str(edition_id)}


def compress_response(plain: StoredResponse, encoding: str, levels: Mapping[str, int] = LEVELS) -> StoredResponse:
    """The same response in a content encoding; small bodies and compressed formats stay as they are."""
    if (
        encoding == IDENTITY
        or len(plain.data) <= MIN_COMPRESSED_BYTES
        or plain.headers["content-type"] in COMPRESSED_TYPES
    ):
        return plain
    etag = f'{plain.headers["etag"][:-1]}-{encoding}"'
    headers = {**plain.headers, "etag": etag, "content-encoding": encoding}
    return StoredResponse(compress(plain.data, encoding, levels), headers)


def respond(
    request: Request, answer: StoredResponse, more: bytes = b"", private: bool = False, status: int = 200
) -> HTTPResponse:
    """200, or 304 if the client has this body; `more` are further header lines; `private` forbids caching. Another
    status is always sent with its body."""
    if private:
        answer = StoredResponse(answer.data, {**answer.headers, **PRIVATE})
    known = request.headers.get("if-none-match")
    if status == 200 and known is not None and is_etag(known, answer.headers["etag"]):
        return PreparedResponse(304, b"", answer.not_modified_lines + more)
    return PreparedResponse(status, answer.data, answer.lines + more)


def wants_page(request: Request) -> bool:
    """Whether the client is a browser that shows what it gets: its Accept names HTML."""
    return "text/html" in request.headers.get("accept", "").lower()


def is_known(request: Request, answer: StoredResponse) -> bool:
    """Whether the client names this body's ETag, so that nothing is sent; `*` names none."""
    known = request.headers.get("if-none-match")
    return known is not None and known.strip() != "*" and is_etag(known, answer.headers["etag"])


def is_etag(known: str, etag: str) -> bool:
    """Whether an If-None-Match names this ETag, or any."""
    return known.strip() == "*" or any(part.strip().removeprefix("W/") == etag for part in known.split(","))


def options_response() -> HTTPResponse:
    """The response to OPTIONS and to a CORS preflight: the allowed methods, for every origin."""
    headers = {"allow": ALLOW, "access-control-allow-methods": ALLOW, "access-control-max-age": "86400"}
    asked = {"access-control-allow-headers": "If-None-Match, If-Range, Range, X-API-Key"}
    return HTTPResponse(status=204, headers={**headers, **asked, **CORS})


def error_response(status: int, message: str, headers: dict[str, str] | None = None, **more: str) -> HTTPResponse:
    """The one form of errors: {error: message}, with a `state` where the interface names one."""
    body = orjson.dumps({"error": message.encode("utf-8", "replace").decode(), **more})
    return HTTPResponse(body, status, {"cache-control": NO_STORE, **CORS, **(headers or {})}, JSON)


def on_exception(request: Request | None, exception: Exception) -> HTTPResponse:
    """Every exception as JSON; an unexpected one is logged, and the client learns nothing of it."""
    if isinstance(exception, ApiError):
        return error_response(exception.status, exception.message, exception.headers)
    if isinstance(exception, SanicException) and exception.status_code < 500:
        if isinstance(exception, MethodNotAllowed):
            allowed = ", ".join(sorted(exception.allowed_methods or METHODS))
            return error_response(
                405, f"method {exception.method} is not allowed here; use {allowed}", {"allow": allowed}
            )
        return error_response(exception.status_code, str(exception) or "bad request")
    log.error("%s failed", request.path if request else "a request", exc_info=exception)
    return error_response(500, "internal error")
