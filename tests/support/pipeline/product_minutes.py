"""Minutes with faults, from request to response: recorded from the simulators, landed, built, published, served."""

import asyncio
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ingest.declaration.venue import Venue
from ingest.landing.landing import land
from ingest.landing.rows import Row
from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse.transform import build
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.recorder_minutes import recorder
from tests.support.pipeline.warehouse import give_built
from tests.support.servers.api_server import Api, free_port, running

Fault = Mapping[str, Any]


class Moment(NamedTuple):
    """A minute to record, its active faults, and whether the landed minutes are built before the next one.

    A request that fails with a 500 is retried until the minute ends, which takes time; a truncated body does not.
    """

    tick_ms: int
    faults: tuple[Fault, ...] = ()
    built: bool = False

    def down(self, venues: Iterable[Venue]) -> set[str]:
        """The venues that do not respond."""
        out = {fault["venue"] for fault in self.faults if fault["kind"] == "outage" and "path" not in fault}
        return {venue.name for venue in venues if out & {venue.name, "*"}}


class Product:
    """A home of its own and everything that was recorded into it."""

    def __init__(self, home: Path) -> None:
        self.settings = Settings.from_env({**os.environ, "TIDEMARK_HOME": str(home)})
        give_dbt(self.settings)
        give_built(self.settings)
        self.rows: list[Row] = []

    def record(self, venues: Collection[Venue], moments: Iterable[Moment], **options: Any) -> None:
        """Record the moments by one recorder, a load each, and publish them."""
        asyncio.run(self._record(venues, moments, options))
        self.build()
        self.publish()

    def land(self, rows: list[Row]) -> None:
        self.rows += rows
        land(rows, self.settings.landing, self.settings.recorder / "dlt")

    def build(self) -> None:
        assert build(self.settings) is not None

    def publish(self) -> None:
        assert publish(self.settings) is not None

    async def _record(self, venues: Collection[Venue], moments: Iterable[Moment], options: dict[str, Any]) -> None:
        async with recorder(venues, **options) as (simulators, minute):
            for moment in moments:
                for fault in moment.faults:
                    assert (await simulators.post("/_sandbox/faults", fault)).status == 201, fault
                rows = await minute(moment.tick_ms, down=moment.down(venues))
                await simulators.delete("/_sandbox/faults")
                await asyncio.to_thread(self.land, rows)
                if moment.built:
                    await asyncio.to_thread(self.build)

    def bodies(self, venue: str, endpoint: str) -> Iterator[tuple[Row, Any]]:
        """The complete bodies of a kind, oldest first."""
        for row in self.rows:
            if (row.venue, row.endpoint, row.status) == (venue, endpoint, 200) and row.body:
                with suppress(ValueError):
                    yield row, json.loads(row.body)

    @contextmanager
    def served(self) -> Iterator[Api]:
        """The API half a minute after the newest minute began, however long the test takes."""
        newest_ms = max(row.tick_ms for row in self.rows)
        now_ms, landing, minutes = newest_ms + 30_000, self.settings.api_landing, self.settings.api_minutes
        with running(self.settings.serving, free_port(), now_ms=now_ms, landing=landing, minutes=minutes) as api:
            yield api
