"""Hours of the whole product with faults at random: `make soak HOURS=2`.

A demo runs on a disk of its own while, in an order that the seed draws, exchanges fail in every way that the simulator
knows and send what no model expects, each process in turn is killed or stopped for a while, the clock jumps, and the
disk is full once; clients ask four times what an address may. At the end the served minutes are compared with the
simulated truth. The exit code is 0 if nothing was lost, doubled or wrong, every 5xx had a name, and no process ended
but the killed; memory and open files are in a table, for judging. SIGINT or SIGTERM ends it early, with its tables.

All processes of the demo see a clock that the soak moves (`clock.c`, compiled here), as that of a machine whose clock
is set: monotonic clocks go on. Without a C compiler the clock stays. A disk of its own needs the right to mount one.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.product import TIDEMARK, Product, get, table, wait_for

MINUTE_MS = 60_000
DISK_GB = 8  # of memory: what two hours of the full universe need, and no more than a machine has to spare
# What a fault lasts, and how long it is quiet until the next one, s.
SHORTEST_S, LONGEST_S, QUIET_S = 20.0, 90.0, 30.0
FULL_DISK_S = 300.0
# By how much the clock jumps, s: as a time server sets it, and as it is after a machine has slept.
JUMPS_S = (-90.0, -20.0, -3.0, 3.0, 20.0, 90.0, 120.0)
VENUES = ("binance", "bybit", "okx", "gate", "bitget", "mexc", "kucoin", "aster", "hyperliquid", "lighter", "upbit")
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "outage"},
    {"kind": "slow", "delay_s": 8},
    {"kind": "500"},
    {"kind": "429", "retry_after": 20},
    {"kind": "418", "retry_after": 20},
    {"kind": "451"},
    {"kind": "truncated"},
    {"kind": "truncated", "cut": True},
    {"kind": "ws_drop", "refuse": True},
    {"kind": "500", "body": "<html>" + "x" * 1_000_000},
    {"kind": "truncated", "at": 1},
    *({"kind": "changed_field", "field": "symbol", "as": kind} for kind in ("string", "number", "null", "removed")),
    *({"kind": "changed_field", "field": field, "times": 1e300} for field in ("lastPrice", "last", "price24hPcnt")),
)
# The processes that are killed, by a part of their command lines; the sandbox is the world and not the product.
PROCESSES = ("cli record", "cli serve", "cli dbt-server", "dagster-daemon", "api grpc", "code_location.ui")
# Four times the budgets of an address: requests a minute.
ASKED = {
    "/api/series/{metric}?base={base}&range={hours}h": 4 * 30,
    "/api/markets": 4 * 60,
    "/api/status": 4 * 300,
    "/coins/{base}": 4 * 300,
    "mcp": 4 * 30,
}
CHECKED = (("binance", "perp", "BTCUSDT"), ("bybit", "perp", "ETHUSDT"), ("okx", "perp", "BTC-USDT-SWAP"))


@dataclass
class Soak:
    """What happened so far."""

    product: Product
    draw: random.Random
    ends: float
    own_disk: bool
    clock: "Clock"
    done: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    unnamed: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    sizes: dict[str, list[tuple[float, int, int]]] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.ends

    def post(self, path: str, body: Any = None, method: str = "POST") -> None:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.product.sandbox}/_sandbox/{path}", data, method=method)
        with suppress(OSError), urllib.request.urlopen(request, timeout=10) as response:
            response.read()

    def processes(self) -> dict[str, int]:
        """Name → process id of the product's processes."""
        mark = f"TIDEMARK_HOME={self.product.home}".encode()
        found: dict[str, int] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                for name in PROCESSES:
                    if name in command:
                        # The first: a run of dbt is a fork of its server.
                        found[name] = min(int(folder.name), found.get(name, int(folder.name)))
        return found


@dataclass
class Clock:
    """The clock of the demo's processes: this machine's, plus an offset that a file holds."""

    file: Path
    library: Path | None
    offset_s: float = 0.0
    jumps: list[tuple[int, int]] = field(default_factory=list)

    def env(self) -> dict[str, str]:
        self._write()
        return {} if self.library is None else {"LD_PRELOAD": str(self.library), "SOAK_CLOCK": str(self.file)}

    def _write(self) -> None:
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("=q", round(self.offset_s * 1e9)))

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + round(self.offset_s * 1000)

    def jump(self, seconds: float) -> None:
        before = self.now_ms()
        self.offset_s += seconds
        self._write()
        self.jumps.append((before, self.now_ms()))

    def jumped_near(self, minute_ms: int) -> bool:
        """Whether a minute is one of those in which the clock stood when it jumped, or that it jumped over: what was
        asked in one and answered in another is of either."""
        return any(min(jump) - 2 * MINUTE_MS <= minute_ms <= max(jump) + 2 * MINUTE_MS for jump in self.jumps)


def clock_of(folder: Path) -> Clock:
    """The clock for a demo, which cannot be moved without a C compiler."""
    library = folder / "clock.so"
    words = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(Path(__file__).with_name("clock.c")), "-ldl"]
    try:
        subprocess.run(words, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the clock does not jump: {error}", flush=True)
        return Clock(folder / "clock", None)
    return Clock(folder / "clock", library)


async def _venue_fails(soak: Soak, fault: dict[str, Any]) -> None:
    fault = {**fault, "venue": soak.draw.choice(VENUES)}
    soak.done[f"exchange: {fault['kind']}"] += 1
    soak.post("faults", fault)
    await asyncio.sleep(soak.draw.uniform(SHORTEST_S, LONGEST_S))
    soak.post("faults", method="DELETE")


async def _process_ends(soak: Soak, name: str) -> None:
    if pid := soak.processes().get(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            soak.killed[name] += 1
            soak.done["kill -9"] += 1


async def _process_stands_still(soak: Soak, name: str) -> None:
    """As on a disk or a machine that hangs."""
    if pid := soak.processes().get(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            soak.done["stopped for a while"] += 1
            await asyncio.sleep(soak.draw.uniform(2, 15))
            os.kill(pid, signal.SIGCONT)


async def _clock_jumps(soak: Soak, seconds: float) -> None:
    if soak.clock.library is not None:
        # Not further from the true time than it jumps at once.
        seconds = -seconds if abs(soak.clock.offset_s + seconds) > max(JUMPS_S) else seconds
        soak.clock.jump(seconds)
        soak.done[f"clock jumps {'forward' if seconds > 0 else 'back'}"] += 1


async def _disk_is_full(soak: Soak) -> None:
    """Only on a disk of the soak's own."""
    if not soak.own_disk:
        return
    fill = soak.product.home.parent / "fill"
    soak.done["full disk"] += 1
    try:
        with suppress(OSError), fill.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(fill.parent).free)
        await asyncio.sleep(min(FULL_DISK_S, max(30.0, (soak.ends - time.monotonic()) / 8)))
    finally:
        fill.unlink(missing_ok=True)


Happening = Callable[[Soak], Awaitable[None]]


def happenings(soak: Soak) -> Iterator[Happening]:
    """Everything that can happen, in a drawn order, again and again; the full disk is among the first, and once."""
    full_disk = [_disk_is_full]
    while True:
        deck: list[Happening] = [
            *(partial(_venue_fails, fault=fault) for fault in FAULTS),
            *(partial(_process_ends, name=name) for name in PROCESSES),
            *(partial(_process_stands_still, name=name) for name in soak.draw.sample(PROCESSES, 2)),
            *(partial(_clock_jumps, seconds=seconds) for seconds in soak.draw.sample(JUMPS_S, 3)),
        ]
        soak.draw.shuffle(deck)
        deck[2:2] = full_disk
        full_disk = []
        yield from deck


async def trouble(soak: Soak) -> None:
    """One after the other, until shortly before the end, so that the last ones are over."""
    for happening in happenings(soak):
        if soak.ends - time.monotonic() < LONGEST_S + QUIET_S:
            return
        await happening(soak)
        await asyncio.sleep(soak.draw.uniform(5, QUIET_S))


async def ask(soak: Soak, path: str, per_minute: int) -> None:
    """Ask one address's worth four times over, and look at each answer."""
    call = {"name": "market_snapshot", "arguments": {"base": "BTC"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        while not soak.over:
            await asyncio.sleep(60 / per_minute)
            metric = soak.draw.choice(("price", "oi", "funding", "volume"))
            values = {"metric": metric, "base": soak.draw.choice(("BTC", "ETH")), "hours": soak.draw.randrange(1, 48)}
            url = f"{soak.product.api}{'/mcp' if path == 'mcp' else path.format(**values)}"
            with suppress(aiohttp.ClientError, TimeoutError):
                asked = session.post(url, json=message) if path == "mcp" else session.get(url)
                async with asked as response:
                    body = await response.read()
                    soak.statuses[response.status] += 1
                    if response.status >= 500 and not _named(body):
                        soak.unnamed.append(f"{response.status} {path} {body[:100]!r}")


def _named(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except ValueError:
        return False
    return bool(found.get("error")) and found.get("error") != "internal error"


def _size(pid: int) -> tuple[int, int]:
    """Memory (kB) and open files of a process."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    memory = int(next(line for line in status if line.startswith("VmRSS")).split()[1])
    return memory, len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def watch(soak: Soak) -> None:
    """Memory (kB) and open files of each process, twice a minute."""
    while not soak.over:
        for name, pid in soak.processes().items():
            with suppress(OSError, StopIteration):
                soak.sizes.setdefault(name, []).append((time.monotonic(), *_size(pid)))
        await asyncio.sleep(30)


def compare(soak: Soak, from_ms: int, to_ms: int) -> list[dict[str, Any]]:
    """The served minutes of some markets against the simulated truth, by metric: each is right, or in a gap, or lost. A
    price is asked within its minute; the volume is the closed bar's, which is asked for again after an outage."""
    rows = []
    for metric in ("price", "volume"):
        counts: Counter[str] = Counter(right=0, in_gaps=0, wrong=0, lost=0, doubled=0, at_jumps=0)
        for venue, kind, symbol in CHECKED:
            span = {"market": f"{venue}:{kind}:{symbol}", "start": from_ms, "end": to_ms, "step": "1m"}
            served = get(f"{soak.product.api}/api/series/{metric}?{urllib.parse.urlencode(span)}")
            asked = {"venue": venue, "type": kind, "symbol": symbol, "from": from_ms, "to": to_ms}
            truth = get(f"{soak.product.sandbox}/_sandbox/truth?{urllib.parse.urlencode(asked)}")
            values = dict(zip(served["t"], served["v"], strict=True))
            counts["doubled"] += len(served["t"]) - len(values)
            for true in truth["minutes"]:
                judged = _judged(metric, true, values.get(true["minute_ms"]), served["gaps"])
                near = judged in ("wrong", "lost") and soak.clock.jumped_near(true["minute_ms"])
                counts["at_jumps" if near else judged] += 1
                if judged in ("wrong", "lost"):
                    soak.unlike.append(
                        f"{metric} of {span['market']} at {true['minute_ms']}: {judged}{', at a jump' * near}"
                    )
        rows.append({"metric": metric, **counts})
    return rows


def _judged(metric: str, true: dict[str, Any], value: float | None, gaps: list[dict[str, Any]]) -> str:
    if value is None:
        return "in_gaps" if any(gap["start"] <= true["minute_ms"] < gap["end"] for gap in gaps) else "lost"
    if metric == "price":
        return "right" if true["low"] * (1 - 1e-9) <= value <= true["high"] * (1 + 1e-9) else "wrong"
    return "right" if abs(value - true["volume_usd"]) <= 1e-9 * true["volume_usd"] else "wrong"


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """A disk of its own in memory, which may be filled; without the right to make one, the folder itself."""
    place = folder / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_GB}g", "tmpfs", str(place)]
    mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    try:
        yield place
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=False)


async def run(soak: Soak) -> None:
    """All of it at the same time, until the end, or until somebody ends it."""

    def end() -> None:
        soak.ends = min(soak.ends, time.monotonic())

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    await asyncio.gather(trouble(soak), watch(soak), *(ask(soak, path, rate) for path, rate in ASKED.items()))


def growth(sizes: list[tuple[float, int, int]], of: int) -> float:
    """By how much the mean of the last quarter is above that of the second: the first is the start's."""
    quarter = max(1, len(sizes) // 4)
    early, late = sizes[quarter : 2 * quarter] or sizes, sizes[-quarter:]
    mean = [sum(row[of] for row in rows) / len(rows) for rows in (early, late)]
    return mean[1] / mean[0] - 1


def main() -> None:
    """Run, print the table, and end with 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(prog="make soak", description="Hours of the product with faults at random.")
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--universe", choices=("small", "full"), default="full")
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    seed = chosen.seed if chosen.seed is not None else random.randrange(10**6)
    print(f"seed {seed}, {chosen.hours:g} hours, universe {chosen.universe}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tidemark-soak-") as folder, disk(Path(folder)) as place:
        product, clock = Product(place / "home", chosen.universe), clock_of(Path(folder))
        output = (Path(folder) / "demo.log").open("w+")
        # A session of its own: Ctrl-C ends the soak, which then ends the demo.
        demo = subprocess.Popen(
            [TIDEMARK, "demo"], env=product.env() | clock.env(), stdout=output, stderr=output, start_new_session=True
        )
        try:
            wait_for(f"{product.api}/api/series/price?base=BTC", 300)
            from_ms = (clock.now_ms() // MINUTE_MS + 1) * MINUTE_MS
            ends = time.monotonic() + chosen.hours * 3600
            soak = Soak(product, random.Random(seed), ends, own_disk=os.path.ismount(place), clock=clock)
            asyncio.run(run(soak))
            soak.post("faults", method="DELETE")
            # The last minutes are built, and what waited is landed.
            time.sleep(150)
            to_ms = (clock.now_ms() // MINUTE_MS - 3) * MINUTE_MS
            compared = compare(soak, from_ms, to_ms)
        finally:
            demo.terminate()
            demo.wait(120)
        output.seek(0)
        ended = Counter(line.split("s  ", 1)[1].split(" stopped")[0] for line in output if " stopped (" in line)
    sys.exit(_report(soak, compared, ended))


def _report(soak: Soak, compared: list[dict[str, Any]], ended: Counter[str]) -> int:
    print("\n" + table([{"what happened": name, "times": count} for name, count in sorted(soak.done.items())]))
    print("\n" + table([{"status": status, "responses": count} for status, count in sorted(soak.statuses.items())]))
    rows = [
        {
            "process": name,
            "killed": soak.killed[name],
            "MB at the end": sizes[-1][1] // 1024,
            "memory grew by": f"{growth(sizes, 1):+.0%}",
            "open files at the end": sizes[-1][2],
            "files grew by": f"{growth(sizes, 2):+.0%}",
        }
        for name, sizes in sorted(soak.sizes.items())
    ]
    print("\n" + table(rows))
    print("\n" + table(compared))
    by_themselves = sum(ended.values()) - sum(soak.killed.values())
    print(f"ended: {dict(ended)}; killed: {dict(soak.killed)}; by themselves: {max(0, by_themselves)}")
    for line in soak.unnamed[:10]:
        print(f"unnamed: {line}")
    for line in soak.unlike[:20]:
        print(f"unlike the truth: {line}")
    bad = (
        sum(row["lost"] + row["doubled"] + row["wrong"] for row in compared) + len(soak.unnamed) + max(0, by_themselves)
    )
    print("as it must be" if not bad else "NOT as it must be")
    return 1 if bad else 0


if __name__ == "__main__":
    main()
