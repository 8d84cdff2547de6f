"""The timeline of an edition: when its newest minute began, and when each step was done until it was published."""

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

# The newest build of what had landed (not one that built older minutes again). The id of a load is its time.
BUILT = """
select max(list_max(built_minutes)), max(builds.as_of_ms), max(try_cast(load_id as double)) * 1000, max(started_ms),
    max(finished_ms), sum(loads.rows)
from pipeline.builds left join pipeline.loads using (build_id)
where build_id = (select max(build_id) from pipeline.loads)
"""
STEPS = ("minute", "received", "landed", "run_started", "build_started", "built", "published", "pointed")


@dataclass(frozen=True)
class Timeline:
    """Times in UTC epoch ms, None where nothing is known of a step.

    minute         the newest minute that the build took
    received       its newest response
    landed         its last load was begun to be written
    run_started    Dagster's run, if one built and published it
    build_started  its window was opened
    built          its window was closed
    published      the replica was begun to be written
    pointed        readers were pointed to it
    models         seconds of each model in the order in which they began, by name
    rows           landed rows that were read
    """

    minute: float | None = None
    received: float | None = None
    landed: float | None = None
    run_started: float | None = None
    build_started: float | None = None
    built: float | None = None
    published: float | None = None
    pointed: float | None = None
    models: tuple[tuple[str, float], ...] = ()
    rows: int | None = None

    def stages(self) -> Iterator[tuple[str, float]]:
        """Name and time, UTC epoch s, of each known step, as metrics name them."""
        for step in STEPS:
            at_ms = getattr(self, step)
            if at_ms is not None:
                yield step, at_ms / 1000

    def seconds(self) -> dict[str, float]:
        """Seconds from the minute's begin to each step."""
        stages = dict(self.stages())
        minute_s = stages.pop("minute", None)
        return {} if minute_s is None else {name: round(at_s - minute_s, 2) for name, at_s in stages.items()}


def read_timeline(
    con: duckdb.DuckDBPyConnection, *, published_ms: float, pointed_ms: float, run_started_ms: float | None = None
) -> Timeline:
    """The timeline of what was published from this warehouse."""
    minute, received, landed, started, built, rows = con.execute(BUILT).fetchall()[0]
    models = con.execute(
        "select model, (finished_ms - started_ms) / 1000 from pipeline.model_times order by started_ms, model"
    ).fetchall()
    return Timeline(
        minute, received, landed, run_started_ms, started, built, published_ms, pointed_ms, tuple(models), rows
    )
