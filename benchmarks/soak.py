"""Hours of the whole product with faults at random: `make soak HOURS=2`.

A demo runs on a disk of its own while, in an order that the seed draws, exchanges fail in every way that the simulator
knows and send what no model expects, each process in turn is killed or stopped for a while, the clock jumps, the disk
is slow, and full once; clients ask four times what an address may. Everything happens at least once: a run too short
for that has shorter faults. At the end the served minutes are compared with the simulated truth. The exit code is 0 if
nothing was lost, doubled or wrong, every 5xx had a name, and no process ended but the killed; memory and open files
are in a table, for judging. SIGINT or SIGTERM ends it early, with its tables.

All processes of the demo see a clock and a disk that the soak changes (`machine.c`, compiled here): as that of a
machine whose clock is set, while monotonic clocks go on, and whose writes take long. Without a C compiler the clock
stays and the disk is fast. A disk of its own needs the right to mount one; without it the disk is not full.
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
import threading
import time
import urllib.error
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

from benchmarks.product import TIDEMARK, Product, get, table, wait_until
from orchestration.config.settings import UNIVERSES

MINUTE_MS = 60_000
STARTED = "Ctrl-C stops everything"  # the end of what the demo prints once all of it runs
DISK_GB = 8  # what two hours of the full universe need
# What a fault lasts, and how long it is quiet until the next one, s.
SHORTEST_S, LONGEST_S, QUIET_S = 20.0, 90.0, 30.0
FULL_DISK_S = 300.0
# On a slow disk a write takes so much longer, ms, and a flush ten times as much.
SLOW_WRITES_MS = (5, 20, 60)
# From the end of faults until what waited is landed and bars are asked for again; and the most until that is served.
SETTLED_S, SERVED_S = 180.0, 900.0
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
    {"kind": "truncated", "at": 0},
    *({"kind": "hostile", "form": form} for form in ("deep", "numbers", "zeros", "bytes", "empty", "nulls")),
    {"kind": "hostile", "form": "huge", "count": 8},
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
    machine: "Machine"
    pace: float = 1.0
    done: Counter[str] = field(default_factory=Counter)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    unnamed: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    sizes: dict[str, list["Size"]] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.ends

    def happens(self, what: str, detail: str = "") -> None:
        """Count it, and print it with the time of the demo's clock, which its logs have too."""
        self.done[what] += 1
        at = time.strftime("%H:%M:%S", time.gmtime(self.machine.now_ms() / 1000))
        print(f"{at}  {what}{': ' if detail else ''}{detail}", flush=True)

    def drawn_s(self, shortest: float, longest: float) -> float:
        """How long something lasts."""
        return self.draw.uniform(shortest, longest) * self.pace

    def keep_pace(self, happened: int) -> None:
        """Make what is to come shorter if not everything would have the time to happen once."""
        share = max(ONE_ROUND - happened, 1) / ONE_ROUND
        self.pace = min(1.0, max(0.05, (self.ends - time.monotonic()) / (ONE_ROUND_S * share)))

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


@dataclass(frozen=True)
class Size:
    """One process at one time: memory in kB, and open files."""

    pid: int
    memory: int
    files: int


@dataclass
class Machine:
    """Clock and disk of the demo's processes: this machine's clock plus an offset, its disk with a delay; a file holds
    both."""

    file: Path
    preloaded: Path | None
    offset_s: float = 0.0
    delay_ms: float = 0.0
    jumps: list[tuple[int, int]] = field(default_factory=list)

    def env(self) -> dict[str, str]:
        self._write()
        return {} if self.preloaded is None else {"LD_PRELOAD": str(self.preloaded), "SOAK_MACHINE": str(self.file)}

    def _write(self) -> None:
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("=qq", round(self.offset_s * 1e9), round(self.delay_ms * 1e6)))

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + round(self.offset_s * 1000)

    def jump(self, seconds: float) -> None:
        before = self.now_ms()
        self.offset_s += seconds
        self._write()
        self.jumps.append((before, self.now_ms()))

    def delay_writes(self, ms: float) -> None:
        self.delay_ms = ms
        self._write()

    def jumped_near(self, minute_ms: int) -> bool:
        """Whether a minute is one of those in which the clock stood when it jumped, or that it jumped over: what was
        asked in one and answered in another is of either."""
        return any(min(jump) - 2 * MINUTE_MS <= minute_ms <= max(jump) + 2 * MINUTE_MS for jump in self.jumps)


def machine_of(folder: Path) -> Machine:
    """Clock and disk for a demo, which cannot be changed without a C compiler."""
    preloaded = folder / "machine.so"
    words = ["cc", "-O2", "-shared", "-fPIC", "-o", str(preloaded), str(Path(__file__).with_name("machine.c")), "-ldl"]
    try:
        subprocess.run(words, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the clock does not jump, and the disk is not slow: {error}", flush=True)
        return Machine(folder / "machine", None)
    return Machine(folder / "machine", preloaded)


async def _venue_fails(soak: Soak, fault: dict[str, Any]) -> None:
    lasts = soak.drawn_s(SHORTEST_S, LONGEST_S)
    fault = {**fault, "venue": soak.draw.choice(VENUES), "seconds": lasts}
    form = f" {fault['form']}" if "form" in fault else ""
    soak.happens(f"exchange: {fault['kind']}{form}", json.dumps(fault)[:160])
    await asyncio.to_thread(soak.post, "faults", fault)
    await asyncio.sleep(lasts)
    await asyncio.to_thread(soak.post, "faults", method="DELETE")


async def _process_ends(soak: Soak, name: str) -> None:
    if pid := soak.processes().get(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            soak.killed[name] += 1
            soak.happens(f"kill -9: {name}", f"process {pid}")


async def _process_stands_still(soak: Soak, name: str) -> None:
    """As on a disk or a machine that hangs."""
    if pid := soak.processes().get(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            soak.happens("stopped for a while", name)
            await asyncio.sleep(soak.drawn_s(2, 15))
            os.kill(pid, signal.SIGCONT)


async def _clock_jumps(soak: Soak, seconds: float) -> None:
    if soak.machine.preloaded is not None:
        # Not further from the true time than it jumps at once.
        seconds = -seconds if abs(soak.machine.offset_s + seconds) > max(JUMPS_S) else seconds
        soak.machine.jump(seconds)
        soak.happens(f"clock jumps {'forward' if seconds > 0 else 'back'}", f"{seconds:+g} s")


async def _disk_is_slow(soak: Soak, ms: float) -> None:
    if soak.machine.preloaded is None:
        return
    soak.happens("slow disk", f"a write takes {ms:g} ms longer, a flush {10 * ms:g} ms")
    soak.machine.delay_writes(ms)
    await asyncio.sleep(soak.drawn_s(SHORTEST_S, LONGEST_S))
    soak.machine.delay_writes(0)


async def _disk_is_full(soak: Soak) -> None:
    """Only on a disk of the soak's own. It stays full: what others free meanwhile is taken too."""
    if not soak.own_disk:
        return
    fill = soak.product.home.parent / "fill"
    lasts = FULL_DISK_S * soak.pace
    soak.happens("full disk", f"for {lasts:.0f} s")
    ends = time.monotonic() + lasts
    try:
        with fill.open("wb") as file:
            while time.monotonic() < ends:
                with suppress(OSError):
                    size = file.seek(0, os.SEEK_END)
                    os.posix_fallocate(file.fileno(), size, max(1, shutil.disk_usage(fill.parent).free))
                await asyncio.sleep(0.2)
    finally:
        fill.unlink(missing_ok=True)


Happening = Callable[[Soak], Awaitable[None]]
# How many things a round has, of which the last seven are the full disk, what stands still and the clock's jumps, and
# what they and a quiet end take: the average, and a tenth for what the draw adds.
ONE_ROUND = len(FAULTS) + len(SLOW_WRITES_MS) + len(PROCESSES) + 7
ONE_ROUND_S = 1.1 * (
    (len(FAULTS) + len(SLOW_WRITES_MS)) * (SHORTEST_S + LONGEST_S) / 2
    + FULL_DISK_S + ONE_ROUND * (QUIET_S + 5) / 2 + LONGEST_S + QUIET_S
)  # fmt: skip


def happenings(soak: Soak) -> Iterator[Happening]:
    """Everything that can happen, in a drawn order, again and again; the full disk is among the first, and once."""
    full_disk = [_disk_is_full]
    while True:
        deck: list[Happening] = [
            *(partial(_venue_fails, fault=fault) for fault in FAULTS),
            *(partial(_process_ends, name=name) for name in PROCESSES),
            *(partial(_process_stands_still, name=name) for name in soak.draw.sample(PROCESSES, 2)),
            *(partial(_clock_jumps, seconds=seconds) for seconds in soak.draw.sample(JUMPS_S[:3], 2)),
            *(partial(_clock_jumps, seconds=seconds) for seconds in soak.draw.sample(JUMPS_S[3:], 2)),
            *(partial(_disk_is_slow, ms=ms) for ms in SLOW_WRITES_MS),
        ]
        soak.draw.shuffle(deck)
        deck[2:2] = full_disk
        full_disk = []
        yield from deck


async def trouble(soak: Soak) -> None:
    """One after the other, until shortly before the end, so that the last ones are over."""
    for number, happening in enumerate(happenings(soak)):
        soak.keep_pace(number)
        if soak.ends - time.monotonic() < (LONGEST_S + QUIET_S) * soak.pace:
            return
        try:
            await happening(soak)
        except OSError as error:
            print(f"could not be done: {error}", flush=True)
        await asyncio.sleep(soak.drawn_s(5, QUIET_S))


async def ask(soak: Soak, path: str, per_minute: int) -> None:
    """Ask one address's worth four times over, and look at each answer."""
    call = {"name": "market_snapshot", "arguments": {"base": "BTC"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    due = time.monotonic()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        while not soak.over:
            # Late requests are made up for, but not those of more than a second.
            due = max(due + 60 / per_minute, time.monotonic() - 1)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            metric = soak.draw.choice(("price", "oi", "funding", "volume"))
            values = {"metric": metric, "base": soak.draw.choice(("BTC", "ETH")), "hours": soak.draw.randrange(1, 48)}
            url = f"{soak.product.api}{'/mcp' if path == 'mcp' else path.format(**values)}"
            try:
                asked = session.post(url, json=message) if path == "mcp" else session.get(url)
                async with asked as response:
                    body = await response.read()
            except (aiohttp.ClientError, TimeoutError) as error:
                soak.statuses["no response", type(error).__name__] += 1
                continue
            name = _name_of(body) if response.status >= 400 else ""
            soak.statuses[str(response.status), name] += 1
            if response.status >= 500 and name in ("", "internal error"):
                soak.unnamed.append(f"{response.status} {path} {body[:100]!r}")


def _name_of(body: bytes) -> str:
    """What an error says that it is."""
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    name = found.get("error") if isinstance(found, dict) else None
    return str(name.get("message", "") if isinstance(name, dict) else name or "")[:60]


def _size(pid: int) -> Size:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    memory = int(next(line for line in status if line.startswith("VmRSS")).split()[1])
    return Size(pid, memory, len(list(Path(f"/proc/{pid}/fd").iterdir())))


async def watch(soak: Soak) -> None:
    """The size of each process, twice a minute."""
    while not soak.over:
        for name, pid in soak.processes().items():
            with suppress(OSError, StopIteration):
                soak.sizes.setdefault(name, []).append(_size(pid))
        await asyncio.sleep(30)


def _served_ms(soak: Soak) -> int:
    """How far the served data goes; 0 while that cannot be read."""
    with suppress(OSError):
        return int(get(f"{soak.product.api}/api/status").get("as_of") or 0)
    return 0


def compare(soak: Soak, from_ms: int, to_ms: int) -> list[dict[str, Any]]:
    """The served minutes of some markets against the simulated truth, by metric: each is right, or in a gap, or lost. A
    price is asked within its minute; the volume is the closed bar's, which is asked for again after an outage."""
    rows = []
    for metric in ("price", "volume"):
        counts: Counter[str] = Counter(right=0, in_gaps=0, wrong=0, lost=0, doubled=0, at_jumps=0)
        for venue, kind, symbol in CHECKED:
            span = {"market": f"{venue}:{kind}:{symbol}", "start": from_ms, "end": to_ms, "step": "1m"}
            try:
                served = get(f"{soak.product.api}/api/series/{metric}?{urllib.parse.urlencode(span)}")
            except urllib.error.HTTPError as error:
                soak.unlike.append(f"{metric} of {span['market']}: {error} {error.read()[:300]!r}")
                counts["lost"] += (to_ms - from_ms) // MINUTE_MS
                continue
            asked = {"venue": venue, "type": kind, "symbol": symbol, "from": from_ms, "to": to_ms}
            truth = get(f"{soak.product.sandbox}/_sandbox/truth?{urllib.parse.urlencode(asked)}")
            values = dict(zip(served["t"], served["v"], strict=True))
            counts["doubled"] += len(served["t"]) - len(values)
            for true in truth["minutes"]:
                judged = _judged(metric, true, values.get(true["minute_ms"]), served["gaps"])
                near = judged in ("wrong", "lost") and soak.machine.jumped_near(true["minute_ms"])
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
    """A disk of its own in a file, which may be filled; without the right to mount one, the folder itself.

    Not in memory: when it is full, the machine would have none left, and stand still.
    """
    place, image = folder / "disk", folder / "disk.img"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_GB * 2**30)
    mounted = _runs("mkfs.ext4", "-q", "-F", "-m", "0", str(image)) and _runs("mount", "-o", "loop", image, str(place))
    if not mounted:
        print("no disk of its own can be mounted: the disk is not full", flush=True)
    try:
        yield place
    finally:
        if mounted:
            _runs("umount", "--lazy", str(place))


def _runs(*words: str | Path) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


async def run(soak: Soak) -> None:
    """All of it at the same time, until the end, or until somebody ends it."""

    def end() -> None:
        soak.ends = min(soak.ends, time.monotonic())

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    doing = asyncio.create_task(trouble(soak))
    await asyncio.gather(watch(soak), *(ask(soak, path, rate) for path, rate in ASKED.items()))
    doing.cancel()
    with suppress(asyncio.CancelledError):
        await doing


def growth(sizes: list[Size], of: Callable[[Size], int]) -> str:
    """By how much the longest life of a process grew: the mean of its last quarter above that of the second, because
    the first is the start's."""
    lives = [[size for size in sizes if size.pid == pid] for pid in {size.pid for size in sizes}]
    life = max(lives, key=len)
    quarter = len(life) // 4
    if not quarter:
        return "-"
    early, late = life[quarter : 2 * quarter], life[-quarter:]
    mean = [sum(of(size) for size in part) / len(part) for part in (early, late)]
    return f"{mean[1] / mean[0] - 1:+.0%} ({len(life) // 2} min)"


def main() -> None:
    """Run, print the table, and end with 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(prog="make soak", description="Hours of the product with faults at random.")
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--universe", choices=UNIVERSES, default="full")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--logs", type=Path, default=None, help="a new folder that the demo's logs are copied to")
    chosen = parser.parse_args()
    seed = chosen.seed if chosen.seed is not None else random.randrange(10**6)
    print(f"seed {seed}, {chosen.hours:g} hours, universe {chosen.universe}", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Before the demo runs there is nothing to print; after, the tables.
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="tidemark-soak-") as folder, disk(Path(folder)) as place:
        product, machine = Product(place / "home", chosen.universe), machine_of(Path(folder))
        print(f"home {product.home}, API {product.api}", flush=True)
        log, began = Path(folder) / "demo.log", time.monotonic()
        with log.open("w") as output:
            # A session of its own: Ctrl-C ends the soak, which then ends the demo.
            demo = subprocess.Popen(
                [TIDEMARK, "demo"], env=product.env() | machine.env(), stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        try:
            # An API without an edition answers too: what starts is not to be disturbed before all of it runs.
            wait_until(lambda: STARTED in log.read_text(), 1200)
            print(f"started after {time.monotonic() - began:.0f} s", flush=True)
            from_ms = (machine.now_ms() // MINUTE_MS + 1) * MINUTE_MS
            soak = Soak(
                product, random.Random(seed), time.monotonic() + chosen.hours * 3600, os.path.ismount(place), machine
            )  # fmt: skip
            asyncio.run(run(soak))
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: ended.set())
            machine.delay_writes(0)
            soak.post("faults", method="DELETE")
            to_ms = (machine.now_ms() // MINUTE_MS - 1) * MINUTE_MS
            ended.wait(SETTLED_S)
            try:
                wait_until(lambda: ended.is_set() or _served_ms(soak) > to_ms + 2 * MINUTE_MS, SERVED_S)
            except TimeoutError:
                print(f"the last minutes are not served {SETTLED_S + SERVED_S:.0f} s after the faults", flush=True)
            compared = compare(soak, from_ms, max(from_ms + MINUTE_MS, to_ms))
        finally:
            demo.terminate()
            demo.wait(120)
            if chosen.logs:
                shutil.copytree(product.home / "logs", chosen.logs, dirs_exist_ok=True)
                shutil.copy(log, chosen.logs)
        lines = log.read_text().splitlines()
    stopped = [line for line in lines if " stopped (" in line]
    sys.exit(_report(soak, compared, stopped))


def _report(soak: Soak, compared: list[dict[str, Any]], stopped: list[str]) -> int:
    print("\n" + table([{"what happened": name, "times": count} for name, count in sorted(soak.done.items())]))
    answers = sorted(soak.statuses.items())
    print("\n" + table([{"status": status, "error": name, "responses": count} for (status, name), count in answers]))
    rows = [
        {
            "process": name,
            "killed": soak.killed[name],
            "MB, median": sorted(size.memory for size in sizes)[len(sizes) // 2] // 1024,
            "MB, most": max(size.memory for size in sizes) // 1024,
            "MB at the end": sizes[-1].memory // 1024,
            "memory of the longest life": growth(sizes, lambda size: size.memory),
            "open files at the end": sizes[-1].files,
            "files of the longest life": growth(sizes, lambda size: size.files),
        }
        for name, sizes in sorted(soak.sizes.items())
    ]
    print("\n" + table(rows))
    print("\n" + table(compared))
    ended = Counter(line.split("s  ", 1)[1].split(" stopped")[0] for line in stopped)
    by_themselves = max(0, sum(ended.values()) - sum(soak.killed.values()))
    print(f"ended: {dict(ended)}; killed: {dict(soak.killed)}; by themselves: {by_themselves}")
    if by_themselves:
        print("\n".join(stopped))
    for line in soak.unnamed[:10]:
        print(f"unnamed: {line}")
    for line in soak.unlike[:40]:
        print(f"unlike the truth: {line}")
    bad = sum(row["lost"] + row["doubled"] + row["wrong"] for row in compared) + len(soak.unnamed) + by_themselves
    print("as it must be" if not bad else "NOT as it must be")
    return 1 if bad else 0


if __name__ == "__main__":
    main()
