"""An endpoint of a simulated venue: the request that it receives and the response that it gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a venue sees it; `body` is parsed JSON, None for a GET. Names of headers are in lower case."""

    query: dict[str, str]
    body: Any
    now_ms: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """One response; `weight` replaces the endpoint's weight where it depends on the request."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    weight: int | None = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path of a venue; `pool` names the rate limit that its weight counts against.

    Parameters inside the path are written as Sanic does (`/kline/<symbol:str>`) and arrive in `Request.query`.
    """

    venue: str
    host: str
    path: str
    respond: Callable[[Request], Response]
    pool: str
    weight: int = 1
    method: str = "GET"


def json_response(value: Any, status: int = 200, weight: int | None = None) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(value), status, weight=weight)
