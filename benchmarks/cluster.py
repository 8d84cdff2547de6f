"""Four hosts on one machine, each with a home of its own: a recorder, a builder, and two that follow the lake and
serve. Between them are a real PostgreSQL (the lake's catalog), an object store (landing and rows) and Redis.

`make cluster` runs it against simulated exchanges until Ctrl-C, and compares the two servers at each edition. With
`--prove` it ends by itself: a thousand requests have the same bytes and `ETag` from both; a server that is killed is
back within a minute; one whose lake is out of reach serves what it has, says that it is behind, and is not ready.
"""

import argparse
import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis

from benchmarks.product import TIDEMARK, free_ports, some_address, table
from tests.support.servers.api_server import until
from tests.support.servers.postgres_server import PASSWORD, postgres_server
from tests.support.servers.redis_server import redis_server
from tests.support.servers.s3_server import BUCKET, s3_server

FIRST_EDITION_S, STOP_S = 600.0, 90.0
REQUESTS, BACK_S = 1000, 60.0
METRICS = ("price", "volume", "oi", "funding", "liquidations", "long-short", "basis", "cvd")
COINS = ("BTC", "ETH", "SOL", "XRP", "DOGE")
RANGES = ("1h&step=1m", "6h&step=5m", "24h&step=1h", "30d&step=1d")
LISTS = ("markets", "gaps", "market-movers", "liquidations", "instruments", "xray", "spikes", "coin/BTC")


class Answer(NamedTuple):
    """What a server says, as far as it must be the same from each: status, `ETag` and body."""

    status: int
    etag: str | None
    body: bytes


@dataclass
class Host:
    """A process of the product with a home of its own."""

    name: str
    folder: Path
    words: tuple[str, ...]
    env: dict[str, str]
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Where its API is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def home(self) -> Path:
        """Where its state is."""
        return self.folder / self.name

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        """Start it."""
        own = {"TIDEMARK_HOME": str(self.home), "TIDEMARK_API_PORT": str(self.port)}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [TIDEMARK, *self.words], env=os.environ | self.env | own, stdout=log, stderr=log
            )

    def stop(self) -> None:
        """End it as an administrator does."""
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            finally:
                self.kill()

    def kill(self) -> None:
        """End it and all that it started, as a machine that loses power."""
        if self.process:
            for pid in self.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def processes(self) -> list[int]:
        """It and all that it started."""
        assert self.process
        below = defaultdict[int, list[int]](list)
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                below[int(stat.read_text().rpartition(")")[2].split()[1])].append(int(stat.parent.name))
        found = [self.process.pid]
        for pid in found:
            found += below[pid]
        return found

    def get(self, path: str) -> Answer | None:
        """The answer to a path, to a client of its own; None while it does not listen."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"X-Forwarded-For": some_address()})
            response = connection.getresponse()
            return Answer(response.status, response.getheader("ETag"), response.read())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def edition(self) -> int:
        """The edition that it serves; 0 without one."""
        status = self.get("/api/status")
        return int(json.loads(status.body).get("edition") or 0) if status and status.status == 200 else 0

    def is_ready(self) -> bool:
        """Whether a balancer would send it requests."""
        ready = self.get("/readyz")
        return ready is not None and ready.status == 200


@dataclass
class Cluster:
    """All hosts, and what is between them."""

    recorder: Host
    builder: Host
    servers: tuple[Host, Host]
    redis: Redis

    def check(self) -> None:
        """Raise if a host has ended by itself."""
        for host in (self.recorder, self.builder, *self.servers):
            if host.process and host.process.poll() is not None:
                raise RuntimeError(f"{host.name} has ended:\n{host.log.read_text()[-2000:]}")

    def await_edition(self, at_least: int, seconds: float) -> int:
        """Wait until both servers serve the same edition, this one or a later one."""
        return until(lambda: self._same(at_least), bool, seconds)

    def _same(self, at_least: int) -> int:
        self.check()
        one, two = (server.edition() for server in self.servers)
        return one if one == two >= at_least else 0

    def compared(self, paths: list[str]) -> int:
        """Ask both servers for each path, and raise if they differ; returns how often an edition came in between two
        answers, so that both were asked again."""
        again = 0
        for path in paths:
            while True:
                edition = self.await_edition(1, 60)
                one = self.servers[0].get(path)
                # Its answer is there for all, and the other would give it again.
                self.redis.flushdb()
                two = self.servers[1].get(path)
                if all(server.edition() == edition for server in self.servers):
                    break
                again += 1
            if one is None or one != two or one.status != 200:
                raise RuntimeError(f"{path} differs in edition {edition}: {one and one[:2]}, {two and two[:2]}")
        return again


@contextmanager
def cluster(folder: Path, universe: str = "small") -> Iterator[Cluster]:
    """Start the servers and hosts in a folder, and end them all."""
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        for name in ("redis", "s3"):
            (folder / name).mkdir(parents=True)
        redis = stack.enter_context(redis_server(folder / "redis"))
        s3 = stack.enter_context(s3_server(folder / "s3"))
        exchanges_port, dagster_port, *ports = free_ports(7)
        env = s3.environ() | {
            "PGPASSWORD": PASSWORD,
            "TIDEMARK_WAREHOUSE": f"ducklake:postgres:host=127.0.0.1 port={postgres.port} "
            f"dbname={postgres.database()} user=tidemark",
            "TIDEMARK_LAKE_DATA": f"s3://{BUCKET}/lake",
            "TIDEMARK_LANDING": f"s3://{BUCKET}/landing",
            "TIDEMARK_REDIS_URL": redis.url,
            "TIDEMARK_UNIVERSE": universe,
            "TIDEMARK_SANDBOX_PORT": str(exchanges_port),
            "TIDEMARK_VENUES_URL": f"http://127.0.0.1:{exchanges_port}",
            "TIDEMARK_DAGSTER_PORT": str(dagster_port),
            # Rate limits are by client address: the comparison is made for many.
            "TIDEMARK_TRUSTED_PROXIES": "127.0.0.1",
        }
        host = {
            name: Host(name, folder, words, env, port)
            for port, (name, words) in zip(
                ports,
                {
                    "exchanges": ("sandbox", "--simulate"),
                    "recorder": ("record",),
                    "builder": ("up", "--no-record"),
                    "server-1": ("follow",),
                    "server-2": ("follow",),
                }.items(),
                strict=True,
            )
        }
        for one in host.values():
            stack.callback(one.stop)
            one.start()
        yield Cluster(host["recorder"], host["builder"], (host["server-1"], host["server-2"]), redis.client)


def requests() -> list[str]:
    """A thousand requests: series of several metrics, coins and steps, and whole lists."""
    series = [
        f"/api/series/{metric}?base={coin}&range={span}" for metric in METRICS for coin in COINS for span in RANGES
    ]
    return list(itertools.islice(itertools.cycle([*series, *(f"/api/{name}" for name in LISTS)]), REQUESTS))


def prove(hosts: Cluster, begun: float) -> list[dict[str, str]]:
    """Prove what the first lines of this file say: what was measured, as rows of a table."""
    rows = []

    def note(what: str, measured: str) -> None:
        print(f"{time.monotonic() - begun:7.1f} s  {what}: {measured}", flush=True)
        rows.append({"what": what, "measured": measured})

    edition = hosts.await_edition(1, FIRST_EDITION_S)
    note("first edition of both servers", f"{time.monotonic() - begun:.1f} s after the start")
    edition = hosts.await_edition(edition + 1, 180)
    began = time.monotonic()
    again = hosts.compared(requests())
    note(
        f"{REQUESTS} requests to each server",
        f"the same status, ETag and bytes in {time.monotonic() - began:.1f} s ({again} asked again at a new edition)",
    )
    one, two = hosts.servers
    one.kill()
    killed = time.monotonic()
    one.start()
    until(one.is_ready, bool, BACK_S)
    back = time.monotonic()
    hosts.await_edition(1, BACK_S)
    note(
        "server-1 killed and started again",
        f"ready after {back - killed:.1f} s, the edition of server-2 after {time.monotonic() - killed:.1f} s",
    )
    behind = hosts.await_edition(1, 60)
    publisher = next(pid for pid in two.processes() if b"publish" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(publisher, signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        until(two.is_ready, lambda ready: not ready, 600)
        ready = two.get("/readyz")
        series = two.get("/api/series/price?base=BTC")
        if series is None or series.status != 200 or not one.is_ready():
            raise RuntimeError(f"server-2 answers {series and series.status} while it is behind")
        note(
            "server-2 without new editions",
            f"not ready after {time.monotonic() - stopped:.0f} s ({ready and ready.body.decode().strip()}), "
            f"serves edition {two.edition()} of {behind}, server-1 {one.edition()}",
        )
    finally:
        os.kill(publisher, signal.SIGCONT)
    begun_again = time.monotonic()
    until(two.is_ready, bool, BACK_S)
    note("server-2 with the lake again", f"ready after {time.monotonic() - begun_again:.1f} s")
    return rows


def show(hosts: Cluster, begun: float) -> None:
    """Print where everything is, and a line for each edition that both serve."""
    for host in (hosts.builder, *hosts.servers):
        print(f"  {host.name:9} {host.url}   home {host.home}, log {host.log}", flush=True)
    edition = 0
    while True:
        edition = hosts.await_edition(edition + 1, FIRST_EDITION_S)
        again = hosts.compared(["/api/markets", "/api/series/price?base=BTC"])
        since = time.monotonic() - begun
        print(f"{since:7.1f} s  edition {edition}: the same bytes from both servers ({again} asked again)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--prove", action="store_true", help="prove what two servers must do, and end")
    parser.add_argument("--universe", default="small", help="size of the simulated market")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="cluster-") as folder:
        begun = time.monotonic()
        try:
            with cluster(Path(folder), arguments.universe) as hosts:
                if arguments.prove:
                    print(table(prove(hosts, begun)))
                else:
                    show(hosts, begun)
        except pytest.skip.Exception as missing:
            sys.exit(str(missing))
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
