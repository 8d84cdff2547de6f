"""A real Redis server of a test's own, on a free loopback port."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.support.servers.api_server import free_port, until


@dataclass
class RedisServer:
    """The server, which can be ended and started again."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> "Redis":
        """A client of it."""
        return Redis.from_url(self.url)

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--dir", str(self.folder)]
        out = (self.folder / "redis.log").open("ab")
        self.process = subprocess.Popen(["redis-server", *options], stdout=out, stderr=out)
        out.close()
        until(self._answers, bool)

    def stop(self) -> None:
        """End it."""
        if self.process:
            self.process.terminate()
            self.process.wait(30)
        self.process = None

    def _answers(self) -> bool:
        with contextlib.suppress(RedisError):
            return bool(self.client.ping())
        return False


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """A running server until the block ends; skips where Redis is not installed."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
    server = RedisServer(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()
