"""What recording costs in the landing: bytes a day of each exchange's endpoints, measured on the newest minutes."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ingest.declaration.history import HISTORY_SQL
from ingest.landing.landing import committed_loads
from ingest.landing.store import give_access
from orchestration.config.clock import DAY_MS, MINUTE_MS, now_ms
from orchestration.config.settings import Settings
from orchestration.warehouse.writer import PipelineError, literals

DAY_MINUTES = DAY_MS // MINUTE_MS
# Rows of a load are later than the minute by less than this.
LATE_MINUTES = 5


@dataclass(frozen=True)
class Cost:
    """Of one endpoint, a day: answers, bytes of their text, and bytes of the landing once the day is compacted."""

    venue: str
    endpoint: str
    answers: float
    text_bytes: float
    landed_bytes: float


def recording_costs(settings: Settings, minutes: int = 60) -> tuple[int, list[Cost]]:
    """How many recorded minutes were measured, up to `minutes`, and what a day of such costs, the dearest first.

    An endpoint's bytes are those of a file with its rows alone, compressed as compaction does. History that is fetched
    once is left out. PipelineError if nothing was recorded in the last day.
    """
    at_ms = now_ms()
    loads = committed_loads(settings.landing, f"{at_ms / 1000 - 86_400:.7f}")[-2 * (minutes + LATE_MINUTES) :]
    files = [file for load in loads for file in load.files]
    if not files:
        raise PipelineError(f"nothing was landed in {settings.landing} in the last day, so there is nothing to measure")
    with duckdb.connect(config=dict(settings.build_resources)) as con, TemporaryDirectory(dir=settings.home) as folder:
        give_access(con, files)
        rows = f"(from read_parquet([{literals(*files)}], union_by_name = true) where not {HISTORY_SQL})"
        # The newest minute may still be landing.
        con.execute(
            f"create table measured as select distinct tick_ms from {rows} order by 1 desc offset 1 limit {minutes}"
        )
        measured = con.execute("select count(*) from measured").fetchone()
        if not measured or not measured[0]:
            raise PipelineError("one minute is recorded so far: ask again in a minute")
        rows = f"(from {rows} semi join measured using (tick_ms))"
        con.execute(
            f"copy {rows} to {literals(folder)} (format parquet, compression zstd, compression_level 1, "
            "partition_by (venue, endpoint), write_partition_columns true, overwrite_or_ignore true)"
        )
        counted = con.execute(
            f"select venue, endpoint, count(*), coalesce(sum(strlen(body)), 0) from {rows} group by all order by all"
        ).fetchall()
        per_day = DAY_MINUTES / measured[0]
        costs = [
            Cost(venue, endpoint, answers * per_day, text * per_day, _size(Path(folder), venue, endpoint) * per_day)
            for venue, endpoint, answers, text in counted
        ]
    return measured[0], sorted(costs, key=lambda cost: -cost.landed_bytes)


def _size(folder: Path, venue: str, endpoint: str) -> int:
    return sum(file.stat().st_size for file in (folder / f"venue={venue}" / f"endpoint={endpoint}").iterdir())
