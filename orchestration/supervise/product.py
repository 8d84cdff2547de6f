"""The running product: the processes of `tidemark demo` and `tidemark up`, their order, and the printed lines."""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from orchestration.config.places import is_lake
from orchestration.config.settings import Settings
from orchestration.supervise import commands, preflight, probes
from orchestration.supervise.supervisor import Outcome, Supervisor

FIRST_LOAD_S = 90.0
READY_S = 90.0
ANSWER_S = 15.0
QUIET_S = 180.0
# A demo starts no further backfill requests after this long.
SAMPLE_S = 45.0
HISTORY_PAUSE_S, LONGEST_HISTORY_PAUSE_S = 300.0, 7200.0
# The history of a UTC day is fetched so long after its end.
DAY_S, AFTER_DAY_S = 86_400, 1800
ADDRESSES = """
  pages        {api}/   (in a browser: markets, coins, metrics, status)
  API          {api}   (description: {api}/openapi.json)
  MCP          {api}/mcp   (the same data as tools for models)
  Dagster      {dagster}   (runs, schedules, lineage from venue to served table)
  guide        {api}/guide/   (how to use, run and change it)
  dbt docs     {api}/dbt/   (what every table, column and metric means)
  quality      {api}/quality/   (what is expected of the data, and what each hour's checks found)

  Try this:
    curl '{api}/api/series/price?base=BTC'
    curl '{api}/api/series/oi?base=ETH&range=6h&step=5m'
    curl '{api}/api/series/funding?market=binance:perp:BTCUSDT'
    curl '{api}/api/series/liquidations?base=BTC&format=csv'
    curl --compressed '{api}/api/markets'
    curl '{api}/api/status'

  Ctrl-C stops everything; the next start goes on from what is there.
"""


def run(settings: Settings, *, demo: bool, record: bool = True) -> None:
    """Run everything until SIGINT or SIGTERM; raises PreflightError when something is in the way.

    record: ask the exchanges; else what other hosts land is built and served.
    """
    if demo:
        settings = replace(settings, venues_url=settings.sandbox_url)
    preflight.check_folders(settings)
    lock = preflight.lock_home(settings.home)
    ports = {"API": (settings.api_host, settings.api_port), "DAGSTER": (settings.dagster_host, settings.dagster_port)}
    if demo:
        ports["SANDBOX"] = (settings.sandbox_host, settings.sandbox_port)
    preflight.check_ports(ports)
    preflight.check_origin(settings)
    asyncio.run(Product(settings, demo, lock, record=record).run())


def follow(settings: Settings) -> None:
    """Publish from the lake and serve until SIGINT or SIGTERM; raises PreflightError when something is in the way."""
    if not is_lake(settings.warehouse):
        raise preflight.PreflightError(
            f"TIDEMARK_WAREHOUSE is {settings.warehouse!r}, but only a lake can be followed: ducklake:postgres:…"
        )
    preflight.check_folders(settings, builds=False)
    lock = preflight.lock_home(settings.home)
    preflight.check_ports({"API": (settings.api_host, settings.api_port)})
    asyncio.run(Follower(settings, False, lock).run())


class Product:
    """One run of the whole product."""

    def __init__(self, settings: Settings, demo: bool, lock: int, *, record: bool = True) -> None:
        self.settings = settings
        self.demo = demo
        self.record = record
        self.started = time.monotonic()
        self.started_ms = time.time() * 1000
        self.supervisor = Supervisor(settings.logs, self.report, keep_open=(lock,))
        self.tasks: set[asyncio.Task[Any]] = set()
        self.last: set[asyncio.Task[Any]] = set()

    def report(self, text: str) -> None:
        """Print a line with the time since the start, and keep it in logs/supervisor.log."""
        since_s = time.monotonic() - self.started
        line, kept = f"{since_s:7.1f} s  {text}", f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}"
        if self.settings.log_format == "json":
            said = {"time": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S,%f}"[:-3], "level": "INFO", "logger": "supervisor"}
            line = kept = json.dumps({**said, "message": text, "since_start_s": round(since_s, 1)})
        # A closed terminal or a full disk must not end the product.
        with contextlib.suppress(OSError):
            print(line, flush=True)
        with contextlib.suppress(OSError), (self.settings.logs / "supervisor.log").open("a") as log:
            log.write(f"{kept}\n")

    async def run(self) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        asked: list[float] = []

        def on_signal() -> None:
            # A second Ctrl-C stops at once. One that follows immediately is the first one again, passed on by make.
            asked.append(loop.time())
            self.supervisor.hurry = asked[-1] - asked[0] > 1
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, on_signal)
        async with self.supervisor:
            startup = self.start(self.startup())
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({startup, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            self.report("stopping every process")
            # The simulated exchanges end last: otherwise the recorder would record their end as an outage.
            ended = await self.end(self.tasks - self.last) + await self.end(self.last)
        self.report("stopped; the next start continues from here")
        for error in ended:
            if isinstance(error, Exception):
                raise error

    async def end(self, tasks: set[asyncio.Task[Any]]) -> list[Any]:
        for task in tasks:
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    def start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        self.tasks.add(task)
        return task

    async def startup(self) -> None:
        """Start everything, await the first edition, then follow the editions."""
        settings = self.settings
        self.report(f"state is kept in {settings.home}; each process logs to {settings.logs}")
        before = probes.edition(self.settings)
        if before:
            self.report(
                f"goes on from edition {before['edition_id']} of {probes.clock(before['as_of_ms'])}, served at once"
            )
        self.start(self.supervisor.keep_logs_short())
        if self.demo:
            self.last = {self.keep("sandbox", "sandbox", "--simulate")}
            await self.wait_for(settings.sandbox_url, "simulated exchanges")
        landed = await asyncio.to_thread(probes.last_load, settings)
        if self.record:
            self.keep("recorder", "record")
        self.keep("server", "serve")
        # While the first minute is fetched: the first build finds dbt imported and the project read.
        self.keep("dbt", "dbt-server")
        load = await self.first_load(landed)
        # At once, so that the second minute's build has what comes first of it: the newest day in minutes.
        history = self.start(self.fetch_history()) if self.record else None
        await self.first_edition(load)
        if history and self.demo:
            self.start(self.add_history(history))
        await self.start_dagster()
        docs = self.start(self.make_docs())
        await self.wait_for(settings.dagster_url, "Dagster")
        await docs
        self.print_addresses()
        self.start(self.check_quality())
        await self.follow_editions()

    async def first_edition(self, load: str | None) -> None:
        """Build and publish the first new load, without waiting for Dagster."""
        if load is not None and await self.publish_built("first"):
            await self.first_answer()

    async def add_history(self, history: "asyncio.Task[Any]") -> None:
        """Build and publish the demo's history once it is there: Dagster's first run waits for the next minute."""
        await history
        await self.publish_built("history")

    async def publish_built(self, name: str) -> bool:
        """Build what is landed and publish an edition; whether that succeeded. `name` begins the name of the log."""
        begin = time.monotonic()
        outcome = await self.supervisor.run(commands.tidemark(self.settings, f"{name}-build", "build", "--publish"))
        if outcome.code != 0:
            self.report_failure(f"the {name} edition was not made", outcome)
            self.report("Dagster tries again every minute")
            return False
        result = outcome.tail[-1] if outcome.tail else ""
        self.report(f"built and published in {time.monotonic() - begin:.1f} s: {result}")
        return True

    async def first_load(self, landed: str | None) -> str | None:
        """The first load after the given one, once it is committed; None on timeout."""
        deadline = time.monotonic() + FIRST_LOAD_S
        reported = None
        while (load := await asyncio.to_thread(probes.last_load, self.settings, landed)) is None:
            if (problem := probes.landing_error(self.settings, self.started_ms)) and problem != reported:
                self.report(f"recorder: {problem}")
                reported = problem
            if time.monotonic() > deadline:
                see = self.settings.logs / "recorder.log" if self.record else "the log of the host that records"
                self.report(f"nothing has landed for {FIRST_LOAD_S:.0f} s, see {see}")
                return None
            await asyncio.sleep(0.2)
        self.report(f"landed: the first minute of raw responses (load {load})")
        return load

    async def fetch_history(self) -> None:
        """Fetch the missing history in the background, at once and every day; a demo fetches a small part once.

        What was recorded since is fetched too: recorded values are compared with it (see the model `accuracy`).
        """
        words = ("--sample", "--within", f"{SAMPLE_S:.0f}") if self.demo else ()
        pause_s = HISTORY_PAUSE_S
        while True:
            begin = time.monotonic()
            outcome = await self.supervisor.run(commands.tidemark(self.settings, "backfill", "backfill", *words))
            result = outcome.tail[-1] if outcome.tail else outcome.reason
            self.report(f"{result} ({time.monotonic() - begin:.0f} s)")
            if self.demo:
                return
            if outcome.code == 0:
                pause_s = HISTORY_PAUSE_S
                await asyncio.sleep(until_day_is_fetched_s(time.time()))
            else:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_HISTORY_PAUSE_S)

    async def first_answer(self) -> None:
        url = f"{self.settings.api_url}/api/series/price?base=BTC"
        if await until(lambda: probes.first_number(url) is not None, ANSWER_S):
            price = await asyncio.to_thread(probes.first_number, url)
            self.report(f"the API serves data: BTC costs {price:,.2f} USD ({url})")
        else:
            self.report("no BTC price is served yet: `tidemark status` shows the last response of each exchange")

    async def start_dagster(self) -> None:
        prepared = await self.supervisor.run(commands.prepare_dagster(self.settings))
        if prepared.code != 0:
            self.report_failure("Dagster's database could not be prepared", prepared)
        code_server, *others = commands.dagster(self.settings)
        self.start(self.supervisor.keep(code_server))
        await until(commands.code_socket(self.settings).exists)
        for command in others:
            self.start(self.supervisor.keep(command))

    async def make_docs(self) -> None:
        outcome = await self.supervisor.run(commands.tidemark(self.settings, "docs", "docs"))
        if outcome.code != 0:
            self.report_failure("the dbt docs were not made", outcome)

    async def check_quality(self) -> None:
        """Make the first quality report; Dagster makes the next ones, each hour."""
        if (self.settings.quality_docs / "index.html").exists():
            return
        outcome = await self.supervisor.run(commands.tidemark(self.settings, "quality", "quality"))
        if outcome.code == 0:
            self.report(f"the quality report is written: {outcome.tail[-1] if outcome.tail else ''}")
        else:
            self.report_failure("the quality report was not made", outcome)

    async def follow_editions(self) -> None:
        """Print a line for every edition, and a warning if no new ones are published."""
        last, since, warned = probes.edition(self.settings), time.monotonic(), False
        while True:
            await asyncio.sleep(1)
            edition = probes.edition(self.settings)
            if edition and edition != last:
                age = edition["published_ms"] - edition["as_of_ms"]
                later = f"served {age / 1000:.1f} s later" if age >= 0 else "served since the clock was set back"
                self.report(f"edition {edition['edition_id']}: data of {probes.clock(edition['as_of_ms'])}, {later}")
                last, since, warned = edition, time.monotonic(), False
            elif time.monotonic() - since > QUIET_S and not warned:
                self.report(f"no new edition for {QUIET_S / 60:.0f} minutes: see `tidemark status`")
                warned = True

    async def wait_for(self, url: str, what: str) -> None:
        if await until(lambda: probes.listens(url)):
            self.report(f"{what} ready on {url}")
        else:
            self.report(f"{what} not ready on {url} after {READY_S:.0f} s, see {self.settings.logs}")

    def keep(self, name: str, *words: str) -> "asyncio.Task[Any]":
        return self.start(self.supervisor.keep(commands.tidemark(self.settings, name, *words)))

    def report_failure(self, what: str, outcome: Outcome) -> None:
        self.report(f"{what} ({outcome.reason})")
        for line in outcome.tail:
            self.report(f"    {line}")

    def print_addresses(self) -> None:
        print(ADDRESSES.format(api=self.settings.api_url, dagster=self.settings.dagster_url), flush=True)


class Follower(Product):
    """One run of a host that publishes from a lake and serves."""

    async def startup(self) -> None:
        self.report(f"state is kept in {self.settings.home}; each process logs to {self.settings.logs}")
        self.start(self.supervisor.keep_logs_short())
        self.keep("publisher", "publish", "--follow")
        self.keep("server", "serve")
        await self.wait_for(self.settings.api_url, "the API")
        await self.follow_editions()


def until_day_is_fetched_s(now_s: float) -> float:
    """Seconds from a UNIX time to the next fetch of a day that is over."""
    return DAY_S - (now_s - AFTER_DAY_S) % DAY_S


async def until(found: Callable[[], bool], seconds: float = READY_S) -> bool:
    """Wait until a probe returns a value; False on timeout."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if await asyncio.to_thread(found):
            return True
        await asyncio.sleep(0.1)
    return False
