"""The product in a benchmark: its own home, free ports, and commands as processes whose cost is measured."""

import json
import math
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIDEMARK = str(Path(sys.executable).parent / "tidemark")


def free_port() -> int:
    """A loopback TCP port that nobody listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Loopback TCP ports that nobody listens on, each another one."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


@dataclass(frozen=True)
class Cost:
    """The cost of a finished command and its children: seconds of wall clock and of CPU, peak memory in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass
class Product:
    """One home with its settings."""

    home: Path
    universe: str
    api_port: int = field(default_factory=free_port)
    dagster_port: int = field(default_factory=free_port)
    sandbox_port: int = field(default_factory=free_port)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def sandbox(self) -> str:
        return f"http://127.0.0.1:{self.sandbox_port}"

    def env(self) -> dict[str, str]:
        return os.environ | {
            "TIDEMARK_HOME": str(self.home),
            "TIDEMARK_UNIVERSE": self.universe,
            "TIDEMARK_API_PORT": str(self.api_port),
            "TIDEMARK_DAGSTER_PORT": str(self.dagster_port),
            "TIDEMARK_SANDBOX_PORT": str(self.sandbox_port),
            "TIDEMARK_VENUES_URL": self.sandbox,
            # Rate limits are by client address: a measurement uses many addresses.
            "TIDEMARK_TRUSTED_PROXIES": "127.0.0.1",
        }

    def run(self, *words: str) -> Cost:
        """Run a `tidemark` command to its end; raises if it fails."""
        return self.run_command(TIDEMARK, *words)

    def run_command(self, *command: str) -> Cost:
        """Run any command with this product's settings to its end; raises if it fails."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, env=self.env(), check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(time.perf_counter() - start, cpu, after.ru_maxrss / 1024)

    @contextmanager
    def dbt_ready(self) -> Iterator[int]:
        """Run the dbt server while the block runs, as the product does; yields its process id."""
        socket_file = self.home / "dbt" / "dbt.sock"
        process = subprocess.Popen([TIDEMARK, "dbt-server"], env=self.env(), stdout=subprocess.DEVNULL)
        try:
            wait_until(socket_file.exists, 120)
            yield process.pid
        finally:
            process.terminate()
            process.wait(60)

    @contextmanager
    def running(self, *words: str, ready: str, seconds: float = 120) -> Iterator[int]:
        """Run a long-lived `tidemark` command while the block runs, once `ready` answers; yields its process id."""
        log = (self.home / f"bench-{words[0]}.log").open("w")
        process = subprocess.Popen([TIDEMARK, *words], env=self.env(), stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(ready, seconds)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def some_address() -> str:
    """A random client address."""
    return f"100.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}"


def get(url: str) -> Any:
    """The JSON at a URL, requested with a random client address."""
    return json.loads(fetch(url, "identity"))


def fetch(url: str, encoding: str = "gzip") -> bytes:
    """The encoded body at a URL, requested with a random client address."""
    request = urllib.request.Request(url, headers={"X-Forwarded-For": some_address(), "Accept-Encoding": encoding})
    with urllib.request.urlopen(request, timeout=30) as response:
        return bytes(response.read())


def wait_for(url: str, seconds: float) -> None:
    """Wait until a URL returns 200; raises its last error after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            get(url)
            return
        except (OSError, urllib.error.URLError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def wait_until(found: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds; raises TimeoutError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not found():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition did not hold within {seconds:.0f} s")
        time.sleep(0.1)


def children_cpu_s(pid: int) -> float:
    """CPU seconds of the finished children of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
