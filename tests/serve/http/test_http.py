"""HTTP's own rules on every endpoint: methods, CORS, validators, compression, errors, bad input, OpenAPI, docs."""

import concurrent.futures
import gzip
import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import OpenAPIV31SpecValidator

from serve.http.responses import on_exception
from tests.support.replica.replica import AS_OF_MS, CATALOG, publish
from tests.support.replica.replica_server import replica_server
from tests.support.servers.api_server import Api, free_port, running

PATHS = ["/", "/api/markets", "/api/series/price?base=BTC", "/api/status", "/openapi.json", "/dbt/", "/docs", "/guide/"]
SERIES = "/api/series/price?base=BTC&range=6h"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    root = tmp_path_factory.mktemp("http")
    (root / "docs").mkdir()
    (root / "docs" / "index.html").write_text("<html>" + "tables " * 1000)
    (root / "docs" / "manifest.json").write_text("{}")
    (root / "secret.txt").write_text("hidden words")
    with replica_server(root, root / "docs") as api:
        yield api


@pytest.mark.requirement("http:head")
@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_the_body(api: Api, path: str) -> None:
    got, head = api.get(path), api.get(path, "HEAD")
    assert (head.status, head.body) == (200, b"")
    varying = ["etag", "content-length"] if path == "/api/status" else ["ratelimit", "x-ratelimit-reset"]
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


@pytest.mark.requirement("http:json-errors")
def test_an_unknown_path_and_a_failure_of_our_own(api: Api) -> None:
    for accept in ("text/html", "application/json"):
        answer = api.get("/api/market", Accept=accept)
        assert (answer.status, answer.headers["cache-control"]) == (404, "no-store")
        assert "did you mean '/api/markets'?" in answer.error
    failed = on_exception(None, RuntimeError("a secret"))
    assert (failed.status, failed.body) == (500, b'{"error":"internal error"}')


@pytest.mark.requirement("http:paths")
def test_spellings_of_a_path(api: Api) -> None:
    plain = api.get(SERIES)
    for spelling in (
        "/api/series/price/?base=BTC&range=6h",
        "/api/%73eries/%70rice?base=%42TC&r%61nge=6h",
        "/api/series/price?range=6h&base=btc",
    ):
        answer = api.get(spelling)
        assert (answer.status, answer.body, answer.headers["etag"]) == (200, plain.body, plain.headers["etag"])
    market = api.get("/api/series/price?market=binance%3Aperp%3ABTCUSDT")
    assert market.json["market"] == "binance:perp:BTCUSDT"
    assert api.get("/api/markets/").body == api.get("/api/markets").body


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": lambda data: unpack("brotli", data),
    "zstd": lambda data: unpack("zstd", data),
}


def unpack(codec: Literal["brotli", "zstd"], data: bytes) -> bytes:
    """By Arrow's streaming reader, which needs no size."""
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), codec).read())


@pytest.mark.requirement("http:etag", "http:304", "http:coding")
@pytest.mark.parametrize("path", ["/api/markets", SERIES, "/openapi.json", "/dbt/", "/docs/swagger-ui.css"])
@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        ("gzip;q=0.8, br;q=0.2", "gzip"), ("gzip, deflate, br, zstd", "zstd"), ("gzip, deflate, br", "br"),
        ("br;q=1, gzip;q=0.8", "br"), ("*", "zstd"), ("zstd;q=0, *;q=0.5", "br"), ("GZIP", "gzip"),
        ("gzip;q=0.5, identity;q=0.4", "gzip"),
    ],
)  # fmt: skip
def test_validators_and_codings(api: Api, path: str, accept: str, coding: str) -> None:
    plain = api.get(path)
    packed = api.get(path, Accept_Encoding=accept)
    assert packed.headers["content-encoding"] == coding
    assert UNPACK[coding](packed.body) == plain.body
    assert len(packed.body) < len(plain.body)
    etag = plain.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]+"', etag)
    assert packed.headers["etag"] == f'{etag[:-1]}-{coding}"'
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding, X-API-Key"
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        unchanged = api.get(path, If_None_Match=known)
        assert (unchanged.status, unchanged.body) == (304, b"")
        assert unchanged.headers["etag"] == etag
        assert unchanged.headers["cache-control"] == plain.headers["cache-control"]
    assert api.get(path, If_None_Match=packed.headers["etag"], Accept_Encoding=accept).status == 304
    assert api.get(path, If_None_Match=packed.headers["etag"]).status == 200
    assert api.get(path, "HEAD", If_None_Match=etag).status == 304


@pytest.mark.requirement("http:coding")
@pytest.mark.parametrize("accept", ["identity", "gzip;q=0", "deflate", "gzip;q=0.5, identity;q=1", "gzip;q=x", ""])
def test_no_coding_where_not_wanted_or_not_worth_it(api: Api, accept: str) -> None:
    assert "content-encoding" not in api.get("/api/markets", Accept_Encoding=accept).headers
    small = api.get("/api/series/price?base=BTC&range=2m", Accept_Encoding="gzip")
    assert len(small.body) < 1024
    assert "content-encoding" not in small.headers


@pytest.mark.requirement("http:cache-control", "status:fresh")
def test_cache_lifetimes_of_responses(api: Api) -> None:
    for path in ("/api/markets", SERIES, "/openapi.json"):
        assert re.match(r"public, max-age=\d+", api.get(path).headers["cache-control"])
    for path in ("/api/status", "/nope", "/api/series/price?base=NOPE", "/api/series/price?base="):
        assert api.get(path).headers["cache-control"] == "no-store"
    first, second = (api.get("/api/status").json["age_s"] for _ in range(2))
    assert second > first


@pytest.mark.requirement("http:stampede")
def test_equal_questions_at_once(api: Api) -> None:
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda _: api.get("/api/series/volume?base=ETH&range=20d"), range(64)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == len({answer.headers["etag"] for answer in answers}) == 1


@pytest.mark.requirement("http:params:unknown", "http:params:repeated", "http:params:empty", "http:params:message")
def test_messages_about_parameters(api: Api) -> None:
    def error(path: str) -> str:
        answer = api.get(path)
        assert answer.status == 400, answer
        return answer.error

    assert "'rnage'" in error("/api/series/price?base=BTC&rnage=1d")
    assert "did you mean 'range'?" in error("/api/series/price?base=BTC&rnage=1d")
    for path in ("/api/markets?x=1", "/api/status?x", "/openapi.json?x=1", "/?x=1", "/api/markets?"[:-1] + "?metric=1"):
        assert "takes none" in error(path)
    assert "did you mean 'api_key'?" in error("/api/markets?apikey=x")
    assert "'metric' is not a parameter here" in error("/api/series/price?base=BTC&metric=oi")
    assert "base" in error("/api/series/price?base=BTC&base=BTC")
    for name in ("base", "market", "range", "start", "end", "step", "venue", "type", "format"):
        assert name in error(f"/api/series/price?{name}=")
        assert name in error(f"/api/series/price?{name}")
    message = error("/api/series/price?base=BTC&step=15min")
    for part in ("step", "'15min'", "1m, 5m, 15m, 1h, 4h, 1d, auto", "did you mean '15m'?"):
        assert part in message


BASE = "/api/series/price?base=BTC&"
BAD = [
    "/api/series/", "/api/series", "/api/series/price/v", "/api/series/%00?base=BTC", "/api/series/PRICE?base=BTC",
    "/api/series/price%2Fv?base=BTC", "/api/series/..%2f..%2fetc?base=BTC", "/api/series/" + "x" * 500 + "?base=BTC",
    "/api/series/%F0%9F%92%A9?base=BTC", "/api/series/%ff%fe?base=BTC", "/api//markets", "/api/markets/BTC",
    "/api/series/price", "/api/series/price?base", "/api/series/price?base=%00", "/api/series/price?base=%20",
    "/api/series/price?base=BTC%20", "/api/series/price?base=BTC+USDT", "/api/series/price?base=" + "B" * 5000,
    "/api/series/price?base=%F0%9F%9A%80", "/api/series/price?base=%ED%A0%80", "/api/series/price?base=%FF",
    "/api/series/price?base=BTC'--", "/api/series/price?base=BTC'%20OR%20'1'='1", "/api/series/price?base=%22",
    "/api/series/price?base=BTC;drop%20table%20gaps", "/api/series/price?base=binance:perp:BTCUSDT",
    "/api/series/price?base[]=BTC", "/api/series/price?base=BTC&base=ETH", "/api/series/price?BASE=BTC",
    "/api/series/price?base=null", "/api/series/price?base=../../x", "/api/series/price?base=%E2%80%AEBTC",
    "/api/series/price?market=", "/api/series/price?market=binance:perp:'", "/api/series/price?market=binance:perp:%0a",
    "/api/series/price?market=binance:perp:BTCUSDT:x", "/api/series/price?market=:perp:BTCUSDT",
    BASE + "range=0d", BASE + "range=-1d", BASE + "range=1", BASE + "range=d", BASE + "range=1.5d", BASE + "range=1D",
    BASE + "range=1e3d", BASE + "range=99999999999999999999d", BASE + "range=9999999y", BASE + "range=NaN",
    BASE + "range=%D9%A1d", BASE + "range=1d%00", BASE + "range=1%20d", BASE + "range=731d", BASE + "range=1s",
    BASE + "start=NaN&range=1d", BASE + "start=inf&range=1d", BASE + "start=-1&range=1d", BASE + "start=1e12&range=1d",
    BASE + "start=2026-01-01&range=1d", BASE + "start=0x10&range=1d", BASE + "start=%D9%A1&range=1d",
    BASE + "start=99999999999999999999&range=1d", BASE + "start=9223372036854775808&range=1d",
    BASE + "start=1_0&range=1d", BASE + "start=1.5&range=1d", BASE + "start=+1&range=1d", BASE + "start=5",
    BASE + "start=10&end=5",
    BASE + "start=5&end=5", BASE + "start=0&end=4102444800000", BASE + "end=4102444800001", BASE + "end=abc",
    BASE + "step=0", BASE + "step=2h", BASE + "step=60000", BASE + "step=AUTO", BASE + "step=1m,5m", BASE + "step=3d",
    BASE + "venue=Binance", BASE + "venue=all", BASE + "venue=binance,bybit", BASE + "venue=venue_a", BASE + "venue='",
    BASE + "type=swap", BASE + "type=PERP", BASE + "format=xml", BASE + "format=CSV", BASE + "kind=accounts",
    BASE + "api=1", BASE + "&".join(f"x{i}=1" for i in range(500)), BASE + "=1", BASE + "%FF=1", BASE + "%00=1",
    "/api/series/price?" + "a" * 4000, "/api/markets?limit=1", "/dbt/../secret.txt", "/dbt/%2e%2e/secret.txt",
    "/dbt/..%2fsecret.txt", "/dbt/%2e%2e%2fsecret.txt", "/dbt//etc/passwd", "/dbt/%00", "/dbt/nope.html",
    "/dbt/" + "x" * 300,
    "/api/series/liquidations?base=BTC&venue=hyperliquid", "/api/series/funding?base=BTC&type=spot",
]  # fmt: skip


@pytest.mark.requirement("http:bad-input")
@pytest.mark.parametrize("path", BAD)
def test_bad_input_is_the_clients_error(api: Api, path: str) -> None:
    answer = api.get(path)
    assert answer.status in (400, 404), answer
    assert len(answer.error) > 5
    assert b"hidden words" not in answer.body
    assert "Traceback" not in api.log.read_text()


@pytest.mark.requirement("http:bad-input")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /api/series/price?base=\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/series/price?base=Ω HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET http://[bad/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"GET /api/markets HTTP/1.1\r\nHost: x\r\nAccept-Encoding: \xff;q=\xff\r\nIf-None-Match: \xff\r\n\r\n",
        b"POST /api/markets HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_bytes_that_are_hardly_http(api: Api, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=30) as connection:
        connection.sendall(request_bytes)
        status = connection.recv(64)
    assert re.match(rb"HTTP/1.1 (200|4\d\d) ", status), status
    assert "Traceback" not in api.log.read_text()


@pytest.mark.requirement("openapi:valid", "openapi:complete")
def test_openapi(api: Api) -> None:
    document = api.get("/openapi.json").json
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == "2026-10-20"
    assert set(document["paths"]) == {
        "/", "/api/altcoin-season", "/api/coin/{base}", "/api/coinbase-premium/history", "/api/coins/overlay",
        "/api/derivatives-fear-greed", "/api/funding-percentiles", "/api/funding-persistence",
        "/api/heatmap-validation", "/api/hyperliquid/liquidations",
        "/api/kimchi-premium/history", "/api/liquidations", "/api/long-short", "/api/market-movers", "/api/markets",
        "/api/new-listings", "/api/open-interest-acceleration", "/api/options/{coin}", "/api/options/{coin}/iv",
        "/api/order-book-depth", "/api/perp-dex-ranking",
        "/api/series/{metric}", "/api/spike-stats", "/api/spike-stats/{COIN}", "/api/status", "/openapi.json",
    }  # fmt: skip
    series = document["paths"]["/api/series/{metric}"]["get"]
    parameters = {parameter["name"]: parameter for parameter in series["parameters"]}
    names = {*CATALOG, *(alias for definition in CATALOG.values() for alias in definition["aliases"])}
    assert set(parameters["metric"]["schema"]["enum"]) == names
    assert set(parameters) == {
        "metric", "base", "market", "range", "start", "end", "step", "venue", "type", "kind", "format",
    }  # fmt: skip
    assert all(parameter["description"] for parameter in parameters.values())
    assert {"200", "304", "400", "401", "404", "429"} <= set(series["responses"])
    assert "Current funding rate as the venue quotes it" in document["info"]["description"]


@pytest.mark.requirement("openapi:complete", "index:lists")
@pytest.mark.parametrize("path", ["/", "/api/markets", "/api/status", "/openapi.json", "/api/series/{metric}"])
def test_responses_satisfy_their_schemas(api: Api, path: str) -> None:
    operation = api.get("/openapi.json").json["paths"][path]["get"]
    content: Any = json.loads(api.get(path.replace("{metric}", "liqs?base=BTC")).body)
    Draft202012Validator(operation["responses"]["200"]["content"]["application/json"]["schema"]).validate(content)
    index = api.get("/").json
    assert {entry["path"] for entry in index["endpoints"]} >= {path, "/dbt/"}
    assert all(entry["summary"] for entry in index["endpoints"])


@pytest.mark.requirement("docs:served")
def test_dbt_docs(api: Api, tmp_path: Path) -> None:
    assert b"tables" in api.get("/dbt/").body
    assert api.get("/dbt/").headers["content-type"].startswith("text/html")
    assert api.get("/dbt").headers["location"] == "/dbt/"
    assert api.get("/dbt/manifest.json").json == {}
    serving = tmp_path / "serving"
    publish(serving, 1)
    with running(serving, free_port(), tmp_path / "not-yet") as other:
        answer = other.get("/dbt/")
        assert (answer.status, "generated" in answer.error) == (404, True)
        (tmp_path / "not-yet").mkdir()
        (tmp_path / "not-yet" / "index.html").write_text("now")
        assert other.get("/dbt/").body == b"now"
        assert other.get(f"/api/series/price?base=BTC&start={AS_OF_MS - 60_000}&end={AS_OF_MS}").status == 200
