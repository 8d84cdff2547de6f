"""A warehouse to test with: the pipeline's tables, landed Parquet files and dbt runs, all real, in one folder."""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import fingerprint
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import RECORDED
from tests.support.pipeline import kept_open
from tests.support.pipeline.dbt_project import idle_models, run_dbt
from tests.support.pipeline.shared import shared

MINUTE = 60_000
# Columns of series_market_1m and _1h.
STAMPS = ("known_ms", "bar_known_ms", "earlier")
# They do not change between windows.
VIEWS = "config.materialized:view_in_place"

COLUMNS: list[tuple[str, pa.DataType]] = [
    ("tick_ms", pa.int64()),
    ("venue", pa.string()),
    ("endpoint", pa.string()),
    ("key", pa.string()),
    ("params", pa.string()),
    ("status", pa.int64()),
    ("requested_ms", pa.int64()),
    ("received_ms", pa.int64()),
    ("attempts", pa.int64()),
    ("error", pa.string()),
    ("body", pa.string()),
]
RESPONSES = pa.schema(COLUMNS)


def response(tick_ms: int, venue: str, endpoint: str, body: Any, **other: Any) -> dict[str, Any]:
    """One landed row: a successful request, 1 s after its minute; `body` is text or anything that JSON can
    represent."""
    row: dict[str, Any] = {
        "tick_ms": tick_ms,
        "venue": venue,
        "endpoint": endpoint,
        "key": "",
        "params": "{}",
        "status": 200,
        "requested_ms": tick_ms + 1000,
        "received_ms": tick_ms + 1200,
        "attempts": 1,
        "error": None,
        "body": body if isinstance(body, str) or body is None else json.dumps(body),
    }
    return row | other


def span(tick_ms: int, venue: str, messages: Sequence[Any], **other: Any) -> dict[str, Any]:
    """One WebSocket span of a whole minute with its frames."""
    body = [{"received_ms": tick_ms + 10 * n, "message": message} for n, message in enumerate(messages)]
    whole = {"status": 101, "requested_ms": tick_ms, "received_ms": tick_ms + MINUTE}
    return response(tick_ms, venue, "liquidations", body, **(whole | other))


@dataclass(frozen=True)
class Warehouse:
    """A DuckDB warehouse in `folder`, with landed files beside it."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "warehouse.duckdb"

    def create(self) -> "Warehouse":
        with self.connect() as db:
            prepare(db)
        return self

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection to read and write with."""
        return kept_open.cursor(self.path)

    def land(self, name: str, rows: Iterable[dict[str, Any]]) -> Path:
        """Write rows as a landed Parquet file."""
        file = self.folder / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), schema=RESPONSES), file)
        return file

    def window(self, files: Sequence[Path], minutes: Sequence[int]) -> None:
        """Set the window to build next."""
        with self.connect() as db:
            db.execute("begin; delete from pipeline.window_files; delete from pipeline.window_minutes")
            db.execute("insert into pipeline.window_files select unnest(?::varchar[])", [[str(file) for file in files]])
            db.execute("insert into pipeline.window_minutes (tick_ms) select unnest(?::bigint[])", [list(minutes)])
            db.execute("commit")

    def dbt(self, *arguments: str, check: bool = True) -> Counter[str]:
        """Run dbt on this warehouse: how many of its nodes ended in which status."""
        return run_dbt(self.path, *arguments, check=check)

    def build(self, rows: Iterable[dict[str, Any]], *select: str) -> Path:
        """Land rows as one file and build their minutes, without the models that these rows leave nothing to do; the
        seeds and the views must be there."""
        rows = list(rows)
        minutes = sorted({row["tick_ms"] for row in rows})
        file = self.land(f"load_{minutes[0]}_{len(list(self.folder.glob('*.parquet')))}", rows)
        self.window([file], minutes)
        select = select or ("path:models/intermediate",)
        # Each name left out costs dbt a look at every node: they are worth it where folders are built.
        folders = [name.removeprefix("path:") for name in select if not name.isidentifier()]
        idle = [VIEWS, *self.idle((row["endpoint"] for row in rows), folders)] if folders else []
        self.dbt("run", "--select", *select, *(["--exclude", *idle] if idle else []))
        return file

    def idle(self, endpoints: Iterable[str], folders: Sequence[str]) -> list[str]:
        """The tables in these folders that dbt would leave as they are: none of their triggers is present."""
        triggers = "select unnest(string_split(value, ' ')) from pipeline.settings where name = 'triggers'"
        there = {name for (name,) in self.rows("select table_name from duckdb_tables()")}
        present = {RECORDED, *endpoints, *(name for (name,) in self.rows(triggers))}
        return sorted(there.intersection(idle_models(present, folders)))

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.connect() as db:
            return db.execute(query, list(parameters)).fetchall()

    def snapshot(self, tables: Iterable[str]) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of some tables, in an order of their own: equal snapshots are equal tables, whatever was known
        when."""
        columns = f"columns(name -> name not in {STAMPS})"
        return {table: self.rows(f"select {columns} from {table} order by all") for table in tables}

    def keep(self) -> None:
        """Remember the warehouse as it is now, for reset()."""
        kept_open.copy(self.path, self.folder / "kept.duckdb")

    def reset(self) -> "Warehouse":
        """Put the warehouse back to what keep() remembered."""
        kept_open.copy(self.folder / "kept.duckdb", self.path)
        return self


def built_empty() -> Path:
    """A warehouse whose every seed, view and table was built over an empty window, built once in a run."""
    with shared("built") as folder:
        template = folder / "kept.duckdb"
        if not template.exists():
            first = Warehouse(folder).create()
            first.dbt("build", "--resource-type", "model", "--resource-type", "seed")
            kept_open.close(first.path)
            first.path.rename(template)
        return template


def give_built(settings: Settings) -> None:
    """Give a home without a warehouse one that an empty first build left, so that its next build is like any later."""
    warehouse = Path(settings.warehouse)
    if not warehouse.exists():
        warehouse.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built_empty(), warehouse)
        # What that build ran of each model, which a publish takes from there.
        shutil.copytree(built_empty().parent / "target/compiled", settings.dbt_target / "compiled", dirs_exist_ok=True)
        with duckdb.connect(warehouse) as db:
            state = {"project": fingerprint(), "seeds": fingerprint("seeds"), "history": "rests"}
            db.executemany("insert into pipeline.settings values (?, ?)", list(state.items()))


def seeded(folder: Path) -> Warehouse:
    """A new warehouse with the pipeline's tables, the seeds and every model, empty."""
    warehouse = Warehouse(folder)
    kept_open.copy(built_empty(), warehouse.path)
    warehouse.keep()
    return warehouse
