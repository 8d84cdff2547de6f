"""The first minute of each venue tested, recorded from the simulator by its declaration and staged, once in a run."""

import asyncio
import json
import pickle
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from ingest.landing.rows import Row
from ingest.recorder.client import Client
from ingest.recorder.minute import record_minute
from ingest.recorder.schedule import Schedule
from ingest.venues import VENUES
from sandbox.http.streams import Frame
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS, DAY_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import World, build_world
from sandbox.server import create_app, serving
from sandbox.venues import SIMULATED_VENUES
from tests.support.pipeline import kept_open
from tests.support.pipeline.recorder_minutes import earlier, unhurried
from tests.support.pipeline.shared import shared
from tests.support.pipeline.warehouse import MINUTE, Warehouse, seeded, span

NOW_MS = ANCHOR_MS + 3 * DAY_MS + 37_500
"""In the first minute of a day, in which every venue that sends liquidations has one."""


def keep_rows(warehouse: Warehouse, venues: Iterable[str]) -> None:
    """Replace the staging views of these venues by their rows: a view reads all bodies again for each question."""
    with warehouse.connect() as con:
        views = "select view_name from duckdb_views() where starts_with(view_name, 'stg_')"
        for (view,) in con.execute(views).fetchall():
            if view.removeprefix("stg_").partition("__")[0] in venues:
                con.execute(f"create table kept as from {view}; drop view {view}; alter table kept rename to {view}")


@dataclass(frozen=True)
class FirstMinute:
    """The landed rows by venue, the world that they are of, and what the staging views make of them."""

    rows: dict[str, list[dict[str, Any]]]
    world: World
    warehouse: Warehouse


def wanted(items: Iterable[pytest.Item]) -> set[str]:
    """The venues that the selected tests look at: of the parameter, or of the file that has one venue's tests."""
    venues: set[str] = set()
    for item in items:
        if "first_minute" in getattr(item, "fixturenames", ()):
            of = getattr(item, "callspec", None)
            venue = of.params.get("venue") if of else None
            venues.add(getattr(venue, "name", venue) or item.path.stem.removeprefix("test_"))
    return venues


async def _recorded(venues: set[str]) -> list[dict[str, Any]]:
    """The rows as they would be landed then."""
    rows: list[Row] = []
    ahead_ms = time.time_ns() // 1_000_000 - NOW_MS
    async with serving(create_app(now_ms=NOW_MS, rate_limits=False)) as url:
        deadline = asyncio.get_running_loop().time() + 300
        for venue in [one for one in VENUES if one.name in venues]:
            async with Client(unhurried(venue), url) as client:
                await record_minute(
                    client, Schedule(client.venue, MINUTE), NOW_MS // MINUTE * MINUTE, deadline, rows.append
                )
    return [earlier(row, ahead_ms)._asdict() for row in rows]


def _frames(world: World, venues: set[str]) -> list[dict[str, Any]]:
    """A span per venue with the minute's liquidations."""
    spans = []
    for one in SIMULATED_VENUES:
        if one.venue in venues and one.frames is not None and one.holders is None:
            sent: list[Frame] = one.frames(world, NOW_MS // MINUTE)
            spans.append(span(NOW_MS // MINUTE * MINUTE, one.venue, [json.loads(text) for _, _, text in sent]))
    return spans


@pytest.fixture(scope="session")
def first_minute(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FirstMinute:
    """The minute of the venues that the selected tests look at; what else a test builds has a warehouse of its own."""
    venues = wanted(request.session.items)
    assert venues <= {venue.name for venue in VENUES}, "each test of the minute has its venue as parameter or file"
    world = build_world(build_universe("small"), 1, Clock(fixed_ms=NOW_MS))
    with shared("first_minute") as folder:
        kept = folder / "rows.pickle"
        if not kept.exists():
            rows = asyncio.run(_recorded(venues)) + _frames(world, venues)
            made = seeded(folder)
            made.build(rows, "raw_window")
            keep_rows(made, venues)
            kept.write_bytes(pickle.dumps(rows))
        rows = pickle.loads(kept.read_bytes())
        warehouse = Warehouse(tmp_path_factory.mktemp("first_minute"))
        kept_open.copy(folder / "warehouse.duckdb", warehouse.path)
    by_venue = {venue.name: [row for row in rows if row["venue"] == venue.name] for venue in VENUES}
    return FirstMinute(by_venue, world, warehouse)
