"""What recording costs in the landing: bytes a day of each exchange's endpoints, measured on the newest minutes."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ingest.declaration.history import HISTORY_SQL
from ingest.landing.loads import committed_loads
from ingest.landing.store import give_access
from orchestration.config.clock import DAY_MS, MINUTE_MS, now_ms
from orchestration.config.settings import Settings
from orchestration.warehouse.packing import packed_file, packed_rows
from orchestration.warehouse.writer import PipelineError, literals

DAY_MINUTES = DAY_MS // MINUTE_MS
GROUP_BYTES = 1_000_000
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

    An endpoint's bytes are those of a file with its rows alone, packed as a compacted day is. History that is fetched
    once is left out. PipelineError if nothing was recorded in the last day.
    """
    at_ms = now_ms()
    loads = committed_loads(settings.landing, f"{at_ms / 1000 - 86_400:.7f}")[-2 * (minutes + LATE_MINUTES) :]
    files = [file for load in loads for file in load.files]
    if not files:
        raise PipelineError(f"nothing was landed in {settings.landing} in the last day, so there is nothing to measure")
    totals: defaultdict[tuple[str, str], _Total] = defaultdict(_Total)
    with duckdb.connect(config=dict(settings.build_resources)) as con:
        give_access(con, files)
        rows = f"(from read_parquet([{literals(*files)}], union_by_name = true) where not {HISTORY_SQL})"
        # The newest minute may still be landing.
        con.execute(
            f"create table measured as select distinct tick_ms from {rows} order by 1 desc offset 1 limit {minutes}"
        )
        measured = con.execute("select count(*) from measured").fetchone()
        if not measured or not measured[0]:
            raise PipelineError("one minute is recorded so far: ask again in a minute")
        for batch in packed_rows(con, files, f"not {HISTORY_SQL} and tick_ms in (from measured)"):
            for name, of_endpoint in _by_endpoint(batch):
                totals[name].add(of_endpoint)
    per_day = DAY_MINUTES / measured[0]
    costs = [
        Cost(*name, total.answers * per_day, total.text_bytes * per_day, total.landed_bytes() * per_day)
        for name, total in totals.items()
    ]
    return measured[0], sorted(costs, key=lambda cost: -cost.landed_bytes)


class _Total:
    """What was measured of one endpoint, and its rows since the last row group."""

    def __init__(self) -> None:
        self.answers = self.text_bytes = 0
        self._written = pa.MockOutputStream()
        self._packed = packed_file(self._written)
        self._rows: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch) -> None:
        bodies: pa.StringArray = rows["body"]  # type: ignore[assignment]
        self.answers += rows.num_rows
        self.text_bytes += pc.sum(pc.binary_length(bodies)).as_py() or 0
        self._rows.append(rows)
        # In a compacted day, small endpoints share the bytes that a row group costs.
        if sum(part.nbytes for part in self._rows) > GROUP_BYTES:
            self._write()

    def landed_bytes(self) -> int:
        self._write()
        self._packed.close()
        return int(self._written.size())

    def _write(self) -> None:
        if self._rows:
            self._packed.write_table(pa.Table.from_batches(self._rows))
            self._rows.clear()


def _by_endpoint(rows: pa.RecordBatch) -> Iterator[tuple[tuple[str, str], pa.RecordBatch]]:
    """The rows of each venue and endpoint, by which they are sorted."""
    names: list[Any] = list(zip(rows["venue"].to_pylist(), rows["endpoint"].to_pylist(), strict=True))
    for name, places in groupby(range(len(names)), key=names.__getitem__):
        first, *more = places
        yield name, rows.slice(first, 1 + len(more))
