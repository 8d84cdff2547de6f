"""`tidemark doctor`: whether this machine and its network can run the product, before the first start and at any time.

Each endpoint of each exchange is asked once and each stream is listened to for a while, by the recorder's own code; the
answers are landed and built in a folder of their own, so that the models themselves judge their form. Nothing of the
home is changed.
"""

import asyncio
import os
import re
import resource
import shutil
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ingest.declaration.endpoint import MINUTE_MS, Endpoint
from ingest.declaration.venue import Venue
from ingest.landing.landing import land
from ingest.landing.rows import Row
from ingest.recorder.client import Client
from ingest.recorder.clock import minute_start, now_ms
from ingest.recorder.minute import record_minute
from ingest.recorder.schedule import Schedule
from ingest.recorder.shares import Shares
from ingest.recorder.streams import StreamRecorder
from ingest.venues import VENUES
from orchestration.config import locks
from orchestration.config.settings import Settings, machine_bytes, machine_cores
from orchestration.supervise import preflight
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import connection

ASK_S, LISTEN_S, TOPICS = 45.0, 12.0, 3
OK, WARNING, FAILURE = "ok", "warning", "failure"
# Less than this is a failure, less than that a warning: bytes of disk and of memory, open files, seconds of clock skew.
DISK, MEMORY, FILES, SKEW_S = (5e9, 50e9), (2e9, 4e9), (1024, 4096), (30.0, 2.0)
# What exchanges and the networks before them write where they do not serve a country.
REGION = re.compile(r"restricted location|your (country|region|location)|not available in|unavailable in|geo", re.I)
REJECTED = "select venue, endpoint, string_agg(distinct reason, ', ') from main.int_rejected group by all"
QUARANTINED = "select venue, endpoint, any_value(error) from pipeline.quarantine group by all"


class Finding(NamedTuple):
    """One line of the result: what was looked at, `ok`, `warning` or `failure`, and what was found."""

    about: str
    state: str
    text: str


@dataclass
class Examined:
    """One exchange: its rows without bodies, by endpoint or stream, a piece of each failed body, and how far its clock
    is ahead of ours, s."""

    venue: Venue
    rows: list[Row] = field(default_factory=list)
    skew_s: list[float] = field(default_factory=list)


def examine(
    settings: Settings, venues: Collection[str] = (), report: Callable[[str], None] = print
) -> tuple[list[Finding], list[Finding]]:
    """Findings about this machine, and about the exchanges (those named, or all)."""
    machine = list(machine_findings(settings))
    chosen = [venue for venue in VENUES if not venues or venue.name in venues]
    report(f"asking {len(chosen)} exchanges, which takes up to {ASK_S + LISTEN_S:.0f} s")
    asked = asyncio.run(_ask_all(chosen, settings.venues_url))
    report("building what they answered, which takes about 20 s")
    refused = judge_shapes([row for one in asked for row in one.rows])
    found = [finding for one in asked for finding in venue_findings(one, refused)]
    return [*machine, *clock_findings([skew for one in asked for skew in one.skew_s])], found


def machine_findings(settings: Settings) -> Iterator[Finding]:
    """Disk, memory, file limits, folders and ports."""
    place = next(folder for folder in (settings.home, *settings.home.parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    yield Finding("disk", _least(free, DISK), f"{free / 1e9:.0f} GB free at {place}; a full universe lands 7 GB a day")
    memory = machine_bytes()
    yield Finding("memory", _least(memory, MEMORY), f"{memory / 1e9:.1f} GB")
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    unlimited = files == resource.RLIM_INFINITY
    text = f"{'any number of' if unlimited else files} open files a process"
    yield Finding("file limit", OK if unlimited else _least(files, FILES), text)
    yield Finding("cores", OK if (cores := machine_cores()) > 1 else WARNING, f"{cores}; two are enough")
    yield _folder(place)
    yield _ports(settings)


def _least(value: float, bounds: tuple[float, float]) -> str:
    return FAILURE if value < bounds[0] else WARNING if value < bounds[1] else OK


def _folder(place: Path) -> Finding:
    writable = os.access(place, os.W_OK)
    return Finding("folder", OK if writable else FAILURE, f"{place} {'is' if writable else 'cannot be'} written")


def _ports(settings: Settings) -> Finding:
    if (settings.home / "tidemark.lock").exists():
        lock = locks.take(settings.home / "tidemark.lock", "doctor")
        if lock is None:
            return Finding("ports", OK, "in use by Tidemark, which runs on this home")
        os.close(lock)
    ports = {"API": (settings.api_host, settings.api_port), "DAGSTER": (settings.dagster_host, settings.dagster_port)}
    try:
        preflight.check_ports(ports)
    except preflight.PreflightError as error:
        return Finding("ports", FAILURE, str(error))
    return Finding("ports", OK, " and ".join(f"{host}:{port}" for host, port in ports.values()) + " are free")


def clock_findings(skews_s: Sequence[float]) -> Iterator[Finding]:
    """How far the exchanges' clocks are ahead of this machine's, by the median of their answers (to a second)."""
    if not skews_s:
        yield Finding("clock", WARNING, "unknown: no answer had a Date header")
        return
    skew_s = statistics.median(skews_s)
    state = FAILURE if abs(skew_s) > SKEW_S[0] else WARNING if abs(skew_s) > SKEW_S[1] else OK
    way = "behind" if skew_s > 0 else "ahead of"
    yield Finding("clock", state, "as the exchanges'" if state == OK else f"{abs(skew_s):.0f} s {way} theirs")


async def _ask_all(venues: Sequence[Venue], venues_url: str | None) -> list[Examined]:
    return list(await asyncio.gather(*(_ask(venue, venues_url) for venue in venues)))


async def _ask(venue: Venue, venues_url: str | None) -> Examined:
    """One request to each endpoint of a venue, then a while of each stream."""
    found = Examined(venue)

    def note_clock(headers: Mapping[str, str]) -> None:
        try:
            found.skew_s.append(parsedate_to_datetime(headers["Date"]).timestamp() + 0.5 - time.time())
        except (KeyError, ValueError):
            return

    small = replace(venue, endpoints=tuple(_small(endpoint, note_clock) for endpoint in venue.endpoints))
    schedule = Schedule(small, MINUTE_MS)
    deadline = asyncio.get_running_loop().time() + ASK_S
    async with Client(small, venues_url) as client:
        await record_minute(client, schedule, minute_start(now_ms(), MINUTE_MS), deadline, found.rows.append)
    streams = [
        StreamRecorder(venue, stream, venues_url, schedule.catalogue, MINUTE_MS, found.rows.append, Shares(1, TOPICS))
        for stream in venue.streams
    ]
    listening = [asyncio.create_task(stream.run()) for stream in streams]
    await asyncio.wait(listening, timeout=LISTEN_S) if listening else None
    for task in listening:
        task.cancel()
    await asyncio.gather(*listening, return_exceptions=True)
    return found


def _small(endpoint: Endpoint, note_clock: Callable[[Mapping[str, str]], None]) -> Endpoint:
    """The endpoint for one key, the most traded."""
    own = endpoint.note

    def note(headers: Mapping[str, str]) -> None:
        note_clock(headers)
        if own:
            own(headers)

    fan_out = endpoint.fan_out and replace(endpoint.fan_out, top=1, rest_s=None, always=endpoint.fan_out.always[:1])
    return replace(endpoint, fan_out=fan_out, note=note)


def judge_shapes(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """(venue, endpoint) → what the models refused of these answers, for those of which they refused something."""
    with TemporaryDirectory(prefix="tidemark-doctor-") as folder:
        apart = Settings.from_env({"TIDEMARK_HOME": folder})
        land(rows, apart.landing, apart.recorder / "dlt")
        build(apart, report=lambda _: None)
        with connection(apart.warehouse, read_only=True) as con:
            refused = con.execute(REJECTED).fetchall() + con.execute(QUARANTINED).fetchall()
    return {(venue, endpoint): reason for venue, endpoint, reason in refused}


def venue_findings(one: Examined, refused: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    """A line for the exchange, and one for each endpoint and stream that is not as it should be."""
    names = [*(endpoint.name for endpoint in one.venue.endpoints), *(stream.name for stream in one.venue.streams)]
    judged = {name: _judged(one, name, refused) for name in dict.fromkeys(names)}
    good = sum(state == OK for state, _ in judged.values())
    # Without any request nothing is known of the markets that a stream names.
    answered = any(judged[endpoint.name][0] == OK for endpoint in one.venue.endpoints)
    state = OK if good == len(judged) else WARNING if answered else FAILURE
    yield Finding(one.venue.name, state, f"{good} of {len(judged)} endpoints and streams are as expected")
    for name, (state, text) in judged.items():
        if state != OK:
            yield Finding(f"{one.venue.name} {name}", state, text)


def _judged(one: Examined, name: str, refused: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    rows = [row for row in one.rows if row.endpoint == name]
    if reason := refused.get((one.venue.name, name)):
        return FAILURE, f"its answer is not as the models expect it ({reason}): see the release notes, or report it"
    if any(row.error is None for row in rows):
        return OK, ""
    if any(stream.name == name for stream in one.venue.streams) and all(row.status == 101 for row in rows):
        return OK, "connected, and quiet"
    return (FAILURE, _why(rows[-1])) if rows else (WARNING, "was not asked in time")


def _why(row: Row) -> str:
    """Why a request has no good answer, in words that say what to do."""
    error = row.error or ""
    body = (row.body or "")[:2000]
    if row.status == 451 or (row.status == 403 and REGION.search(body)):
        return f"blocked by region ({error}): this exchange does not serve this network"
    if row.status == 403:
        return f"refused ({error}): this network's address is blocked, or a proxy answers in its place"
    if row.status in (418, 429) or "asked to wait" in error or "banned us" in error:
        return f"rate-limited ({error}): other programs of this address ask too, or too much"
    if row.status is None and not error.startswith("not asked"):
        return f"not reachable ({error}): see DNS, firewall and proxy"
    return error
