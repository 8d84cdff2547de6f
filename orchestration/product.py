"""The running product: which processes `tidemark demo` and `tidemark up` run, in which order, and what they tell."""

import asyncio
import json
import signal
import socket
import time
import urllib.request
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from orchestration import commands, preflight
from orchestration.settings import Settings
from orchestration.supervisor import Outcome, Supervisor

FIRST_LOAD_S = 90.0
READY_S = 90.0
QUIET_S = 180.0
ADDRESSES = """
  API          {api}   (description: {api}/openapi.json)
  Dagster      {dagster}   (runs, schedules, lineage from venue to served table)
  dbt docs     {api}/dbt/   (what every table, column and metric means)

  Try this:
    curl '{api}/api/series/price?base=BTC'
    curl '{api}/api/series/oi?base=ETH&range=6h&step=5m'
    curl '{api}/api/series/funding?market=binance:perp:BTCUSDT'
    curl '{api}/api/series/liquidations?base=BTC&format=csv'
    curl --compressed '{api}/api/markets'
    curl '{api}/api/status'

  Ctrl-C stops everything; the next start goes on from what is there.
"""
# Stands in the state folder, so that a second start with other settings cannot mix what must stay apart.
SIMULATED, REAL = "simulated exchanges", "the real exchanges"


def run(settings: Settings, *, demo: bool) -> None:
    """Run everything until SIGINT or SIGTERM; raises PreflightError when something is in the way."""
    if demo:
        settings = replace(settings, venues_url=f"http://127.0.0.1:{settings.sandbox_port}")
    preflight.check_folders(settings)
    lock = preflight.lock_home(settings.home)
    ports = {"TIDEMARK_API_PORT": settings.api_port, "TIDEMARK_DAGSTER_PORT": settings.dagster_port}
    if demo:
        ports["TIDEMARK_SANDBOX_PORT"] = settings.sandbox_port
    preflight.check_ports(ports)
    preflight.check_origin(settings, SIMULATED if settings.venues_url else REAL)
    asyncio.run(Product(settings, demo, lock).run())


class Product:
    """One run of the whole product."""

    def __init__(self, settings: Settings, demo: bool, lock: int) -> None:
        self.settings = settings
        self.demo = demo
        self.started = time.monotonic()
        self.supervisor = Supervisor(settings.logs, self.say, keep_open=(lock,))
        self.tasks: set[asyncio.Task[Any]] = set()

    def say(self, text: str) -> None:
        """One line for the person in front of it, with the time since the start; also kept in logs/supervisor.log."""
        print(f"{time.monotonic() - self.started:7.1f} s  {text}", flush=True)
        with (self.settings.logs / "supervisor.log").open("a") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}\n")

    async def run(self) -> None:
        stop = asyncio.Event()

        def on_signal() -> None:
            # A second Ctrl-C means: now.
            self.supervisor.hurry = stop.is_set()
            stop.set()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, on_signal)
        async with self.supervisor:
            story = self.start(self.story())
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({story, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            self.say("stopping every process")
            for task in self.tasks:
                task.cancel()
            ended = await asyncio.gather(*self.tasks, return_exceptions=True)
        self.say("stopped; the next start goes on from here")
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        self.tasks.add(task)
        return task

    async def story(self) -> None:
        """From nothing to a served answer, then on and on."""
        settings = self.settings
        self.say(f"state is kept in {settings.home}; each process logs to {settings.logs}")
        before = self.edition()
        if before:
            self.say(f"goes on from edition {before['edition_id']} of {clock(before['as_of_ms'])}, served at once")
        if self.demo:
            self.keep("sandbox", "sandbox", "--simulate")
            await self.wait_port(settings.sandbox_port, "stand-in exchanges")
        landed = await asyncio.to_thread(last_load, settings)
        self.keep("recorder", "record")
        self.keep("server", "serve")
        parse = self.start(self.supervisor.run(commands.tidemark(self.settings, "dbt-parse", "parse")))
        await self.first_edition(landed, parse)
        prepared = await self.supervisor.run(commands.prepare_dagster(settings))
        if prepared.code != 0:
            self.tell_failure("Dagster's database could not be prepared", prepared)
        for command in commands.dagster(settings):
            self.start(self.supervisor.keep(command))
        docs = self.start(self.make_docs())
        await self.wait_port(settings.dagster_port, "Dagster")
        await docs
        self.print_addresses()
        await self.follow_editions()

    async def first_edition(self, landed: str | None, parse: "asyncio.Task[Any]") -> None:
        """Build and publish as soon as the first new load is committed, without waiting for Dagster."""
        deadline = time.monotonic() + FIRST_LOAD_S
        told = None
        while (load := await asyncio.to_thread(last_load, self.settings, landed)) is None:
            if (problem := self.landing_error()) and problem != told:
                self.say(f"recorder: {problem}")
                told = problem
            if time.monotonic() > deadline:
                self.say(f"nothing has landed for {FIRST_LOAD_S:.0f} s, see {self.settings.logs / 'recorder.log'}")
                return
            await asyncio.sleep(0.2)
        self.say(f"landed: the first minute of raw responses (load {load})")
        await parse
        for step, done in (("build", "built"), ("publish", "published")):
            begin = time.monotonic()
            outcome = await self.supervisor.run(commands.tidemark(self.settings, f"first-{step}", step))
            if outcome.code != 0:
                self.tell_failure(f"the first {step} failed", outcome)
                self.say("Dagster tries again every minute")
                return
            result = outcome.tail[-1] if outcome.tail else ""
            self.say(f"{done} in {time.monotonic() - begin:.1f} s: {result}")
        await self.first_answer()

    async def first_answer(self) -> None:
        url = f"http://127.0.0.1:{self.settings.api_port}/api/series/price?base=BTC"
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if (price := await asyncio.to_thread(first_number, url)) is not None:
                self.say(f"the API answers: BTC costs {price:,.2f} USD ({url})")
                return
            await asyncio.sleep(0.1)
        self.say(f"the API does not answer {url} yet, see {self.settings.logs / 'server.log'}")

    async def make_docs(self) -> None:
        outcome = await self.supervisor.run(commands.tidemark(self.settings, "docs", "docs"))
        if outcome.code != 0:
            self.tell_failure("the dbt docs were not made", outcome)

    async def follow_editions(self) -> None:
        """A line for every edition; a warning when they stop coming."""
        last, since, warned = self.edition(), time.monotonic(), False
        while True:
            await asyncio.sleep(1)
            edition = self.edition()
            if edition and edition != last:
                age = edition["published_ms"] - edition["as_of_ms"]
                self.say(
                    f"edition {edition['edition_id']}: data of {clock(edition['as_of_ms'])}, "
                    f"served {age / 1000:.1f} s later"
                )
                last, since, warned = edition, time.monotonic(), False
            elif time.monotonic() - since > QUIET_S and not warned:
                self.say(f"no new edition for {QUIET_S / 60:.0f} minutes: `tidemark status` tells more")
                warned = True

    def landing_error(self) -> str | None:
        """Why the recorder of this run could land nothing, if that is so."""
        try:
            state = json.loads((self.settings.recorder / "state.json").read_bytes())
        except (OSError, ValueError):
            return None
        ours = state["started_ms"] / 1000 > time.time() - (time.monotonic() - self.started)
        return state["landing_error"] or state["journal_error"] if ours else None

    def edition(self) -> dict[str, Any] | None:
        try:
            current: dict[str, Any] = json.loads((self.settings.serving / "current.json").read_bytes())
        except (OSError, ValueError):
            return None
        return current

    async def wait_port(self, port: int, what: str) -> None:
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if await asyncio.to_thread(listens, port):
                self.say(f"{what} ready on http://127.0.0.1:{port}")
                return
            await asyncio.sleep(0.1)
        self.say(f"{what} not ready on port {port} after {READY_S:.0f} s, see {self.settings.logs}")

    def keep(self, name: str, *words: str) -> None:
        self.start(self.supervisor.keep(commands.tidemark(self.settings, name, *words)))

    def tell_failure(self, what: str, outcome: Outcome) -> None:
        self.say(f"{what} ({outcome.reason})")
        for line in outcome.tail:
            self.say(f"    {line}")

    def print_addresses(self) -> None:
        api = f"http://127.0.0.1:{self.settings.api_port}"
        print(ADDRESSES.format(api=api, dagster=f"http://127.0.0.1:{self.settings.dagster_port}"), flush=True)


def last_load(settings: Settings, after: str | None = None) -> str | None:
    """The newest committed load, if there is one after the given one."""
    from ingest.landing import committed_loads

    loads = committed_loads(settings.landing, after)
    return loads[-1].load_id if loads else None


def clock(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%H:%M:%S} UTC"


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def first_number(url: str) -> float | None:
    """The newest value of a series that the API serves, if it serves one."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            values = json.load(response).get("v", [])
    except (OSError, ValueError):
        return None
    return next((value for value in reversed(values) if value is not None), None)
