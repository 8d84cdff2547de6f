"""What a build does in dbt's own process when its models are built: it closes its window and publishes, on dbt's
connection, before all of it is written into the warehouse's file. Readers have the minute 0.6 s sooner, and the
warehouse is opened once.

If the process dies between the publish and that checkpoint, readers have an edition whose build is done again, from the
same landing; the next publish then finds a replica that is not of the warehouse's builds, and fills it again. What
cannot be published here is left to the publish after the build.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace

import duckdb

from orchestration.config.settings import Settings
from orchestration.publish.ahead import Ahead
from orchestration.publish.edition import Edition
from orchestration.publish.publish import update_replica
from orchestration.publish.timeline import Timeline
from orchestration.warehouse.access import has_its_name
from orchestration.warehouse.closing import Closed, Closing, close, note_closed
from orchestration.warehouse.dbt_runner.process import PARSED
from orchestration.warehouse.writer import PipelineError


class AtOnce:
    """The window that a process describes in its environment."""

    def __init__(self, text: str) -> None:
        self._settings, self._closing = Settings.from_env(), Closing.from_variable(text)
        self._publishes = self._closing.publish and has_its_name(self._settings.warehouse)
        self._ahead: Ahead | None = None
        if self._publishes:
            # What is wrong with the project's served tables, the publish says.
            with suppress(PipelineError):
                self._ahead = Ahead(self._settings)

    def model_built(self, name: str, con: duckdb.DuckDBPyConnection) -> None:
        """Write what this model built into the next replica, if an edition is wanted."""
        if self._ahead:
            self._ahead.model_built(name, con)

    def close(self) -> Callable[[], None]:
        """Close the window, and publish it if that is wanted. What is returned says so to the process that opened it,
        when it is in the warehouse's file."""
        settings, closing = self._settings, self._closing
        closed = close(settings, closing)
        if self._publishes:
            timelines = list[Timeline]()
            try:
                edition = update_replica(
                    settings, settings.dbt_target / PARSED[0], in_order=False, reader_wait_s=0.0, repair=False,
                    begun=self._ahead.begun() if self._ahead else None, run_started_ms=closing.run_started_ms,
                    take_timeline=timelines.append,
                )  # fmt: skip
            except (PipelineError, duckdb.Error, OSError) as error:
                print(f"the edition waits for the publish after the build: {error}")
            else:
                if edition is not None:
                    closed = replace(closed, edition=asdict(edition), timeline=asdict(timelines[0]))
        return lambda: note_closed(settings, closing, closed)

    def stop(self) -> None:
        """Leave the replica."""
        if self._ahead:
            self._ahead.close()


def published_at_once(closed: Closed | None) -> tuple[Edition, Timeline] | None:
    """The edition of a window that was published when it was closed, and its timeline."""
    if closed is None or closed.edition is None or closed.timeline is None:
        return None
    return Edition(**closed.edition), Timeline(**closed.timeline)
