"""A small client of a running sandbox: one call per request, the admin paths, and the shape of a JSON value."""

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from sandbox.server import create_app, serving


@dataclass(frozen=True, slots=True)
class Got:
    """One response."""

    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class SandboxClient:
    """Requests to one server."""

    def __init__(self, url: str, session: aiohttp.ClientSession, app: Any) -> None:
        self.url = url
        self.app = app
        self.session = session

    async def get(self, path: str, **params: Any) -> Got:
        async with self.session.get(self.url + path, params=params) as response:
            return Got(response.status, await response.text(), dict(response.headers))

    async def info(self, body: Any) -> Got:
        async with self.session.post(f"{self.url}/api.hyperliquid.xyz/info", json=body) as response:
            return Got(response.status, await response.text(), dict(response.headers))

    async def post(self, path: str, body: Any) -> Got:
        async with self.session.post(self.url + path, json=body) as response:
            return Got(response.status, await response.text(), dict(response.headers))

    async def delete(self, path: str) -> Got:
        async with self.session.delete(self.url + path) as response:
            return Got(response.status, await response.text(), dict(response.headers))

    async def clock(self, now_ms: int) -> None:
        assert (await self.post("/_sandbox/clock", {"now_ms": now_ms})).status == 200

    async def switch_on(self, **fault: Any) -> int:
        """The identity of a new fault."""
        got = await self.post("/_sandbox/faults", fault)
        assert got.status == 201, got.text
        return int(got.json["id"])


@asynccontextmanager
async def sandbox(**options: Any) -> AsyncIterator[SandboxClient]:
    """A sandbox server in this process and its client."""
    app = create_app(**options)
    async with serving(app) as url, aiohttp.ClientSession() as session:
        yield SandboxClient(url, session, app)


def recorded(path: Path) -> Any:
    """A recorded JSON file, decompressed if need be."""
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def kinds(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """For each key of the rows the JSON types of its values."""
    out: dict[str, set[str]] = {}
    for row in rows:
        for key, value in row.items():
            out.setdefault(key, set()).add(type(value).__name__)
    return out
