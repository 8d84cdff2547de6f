"""Content encodings: negotiation, validators of each encoding, and bodies that stay as they are."""

import gzip
import re
from collections.abc import Callable
from typing import Literal

import pyarrow as pa
import pytest

from tests.support.servers.api_server import Api

SERIES = "/api/series/price?base=BTC&range=6h"
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": lambda data: unpack("brotli", data),
    "zstd": lambda data: unpack("zstd", data),
}


def unpack(codec: Literal["brotli", "zstd"], data: bytes) -> bytes:
    """By Arrow's streaming reader, which needs no size."""
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), codec).read())


@pytest.mark.requirement("http:etag", "http:304", "http:coding")
@pytest.mark.parametrize(
    "path", ["/api/markets", SERIES, "/openapi.json", "/dbt/", "/pages/vendor/swagger-ui/swagger-ui.css"]
)
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
