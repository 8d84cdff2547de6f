"""Responses as HTTP sends them: methods, CORS, errors as JSON, and how long they may be cached."""

import re

import pytest

from tests.support.servers.api_server import Api, until

PATHS = ["/", "/api/markets", "/api/series/price?base=BTC", "/api/status", "/openapi.json", "/dbt/", "/docs", "/guide/"]
SERIES = "/api/series/price?base=BTC&range=6h"


@pytest.mark.requirement("http:head")
@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_the_body(api: Api, path: str) -> None:
    got, head = api.get(path), api.get(path, "HEAD")
    assert (head.status, head.body) == (200, b"")
    varying = ["ratelimit", "x-ratelimit-reset", *(["etag", "content-length"] if path == "/api/status" else [])]
    assert {k: v for k, v in head.headers.items() if k not in varying} == {
        k: v for k, v in got.headers.items() if k not in varying
    }


@pytest.mark.requirement("http:options", "http:cors")
@pytest.mark.parametrize("path", PATHS)
def test_options_and_cors(api: Api, path: str) -> None:
    answer = api.get(path, "OPTIONS", Origin="https://example.org", Access_Control_Request_Method="GET")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["allow"] == answer.headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS"
    for other in (answer, api.get(path), api.get(path + "x")):
        assert other.headers["access-control-allow-origin"] == "*"
        exposed = other.headers["access-control-expose-headers"].split(", ")
        assert {"ETag", "Retry-After", "Link", "RateLimit", "X-RateLimit-Remaining"} <= set(exposed)


@pytest.mark.requirement("http:allow", "http:json-errors")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
def test_another_method(api: Api, path: str, method: str) -> None:
    answer = api.get(path, method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert method in answer.error


@pytest.mark.requirement("http:cache-control", "status:fresh")
def test_cache_lifetimes_of_responses(api: Api) -> None:
    for path in ("/api/markets", SERIES, "/openapi.json"):
        assert re.match(r"public, max-age=\d+", api.get(path).headers["cache-control"])
    for path in ("/api/status", "/nope", "/api/series/price?base=NOPE", "/api/series/price?base="):
        assert api.get(path).headers["cache-control"] == "no-store"
    # Of another second it is another one.
    first = api.get("/api/status").json["age_s"]
    until(lambda: api.get("/api/status").json["age_s"], lambda age_s: age_s > first)
