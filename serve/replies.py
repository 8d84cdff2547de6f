"""HTTP's part of an answer: content coding, validators, caching headers, CORS, and errors as JSON."""

import hashlib
import logging
import zlib
from collections.abc import Iterator
from functools import lru_cache

import orjson
from sanic import Request
from sanic.exceptions import MethodNotAllowed, SanicException
from sanic.response import HTTPResponse

from serve.cache import Stored
from serve.errors import ApiError
from serve.shape import JSON, Body

METHODS = ("GET", "HEAD", "OPTIONS")
ALLOW = ", ".join(METHODS)
NO_STORE = "no-store"
STALE_S = 30
MIN_COMPRESSED = 1024
# Measured: of a 6 MB market body, level 1 takes 40 ms and leaves 1.8 MB, level 6 takes 156 ms and leaves 1.6 MB.
GZIP_LEVEL = 1
EXPOSED = (
    "ETag, Link, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
)
CORS = {"access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED}
log = logging.getLogger("tidemark.serve")


@lru_cache(maxsize=256)
def coding_of(accept_encoding: str) -> str:
    """The content coding to answer with: gzip where the client takes it, else identity."""
    weights: dict[str, float] = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameter = part.partition(";")
        key, _, weight = parameter.strip().partition("=")
        try:
            weights[name.strip()] = float(weight) if key.strip() == "q" else 1.0
        except ValueError:
            weights[name.strip()] = 0.0
    gzip = weights.get("gzip", weights.get("*", 0.0))
    return "gzip" if gzip > 0 and gzip >= weights.get("identity", 0.0) else "identity"


def stored(body: Body, ttl: int | None) -> Stored:
    """A body as it is kept and sent without a content coding."""
    keep = ttl is not None and not body.degraded
    headers = {
        "content-type": body.content_type,
        "etag": f'"{hashlib.blake2b(body.data, digest_size=12).hexdigest()}"',
        "cache-control": f"public, max-age={ttl}, stale-while-revalidate={STALE_S}" if keep else NO_STORE,
        "vary": "Accept-Encoding",
        **CORS,
    }
    return Stored(body.data, headers)


def compressed(plain: Stored) -> Stored:
    """The same body in gzip; too small ones as they are."""
    if len(plain.data) <= MIN_COMPRESSED:
        return plain
    data = zlib.compress(plain.data, GZIP_LEVEL, 31)
    etag = plain.headers["etag"][:-1] + '-gzip"'
    return Stored(data, {**plain.headers, "etag": etag, "content-encoding": "gzip"})


class Kept(HTTPResponse):
    """A 200 whose headers were encoded when it was made: encoding them anew was a quarter of a cached request."""

    def __init__(self, answer: Stored) -> None:
        super().__init__(answer.data)
        self.encoded = answer.encoded

    @property
    def processed_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """Those headers, and what Sanic adds for the connection."""
        yield from self.encoded
        for name, value in self.headers.items():
            yield name.encode(), str(value).encode()


def reply(request: Request, answer: Stored) -> HTTPResponse:
    """200, or 304 where the client has this very body."""
    known = request.headers.get("if-none-match")
    if known is not None and _matches(known, answer.headers["etag"]):
        kept = ("etag", "cache-control", "vary", *CORS)
        return HTTPResponse(status=304, headers={name: answer.headers[name] for name in kept})
    return Kept(answer)


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
