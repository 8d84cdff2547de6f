"""Staged rows that are kept: what the staging views read from the bodies of a compacted day, as Parquet beside the
landing, so that a build of finished days reads them instead of parsing the bodies again.

A compacted file does not change, so rows that a view once read from it are right for as long as the view's SQL is the
same. `staged/<day>/<file>/` has a Parquet file of each view with rows, named by the view and a hash of its SQL, and
`kept.json`, which is written last and names the minutes and the views. A changed view has another hash, and late or
replaced responses are in another file: neither needs to be noticed by anybody.

A window takes a view's rows from there if each of its minutes is in one file alone, with its rows kept; otherwise the
view reads bodies, as it does in minutes with a body in quarantine.
Everything here can be made again from the landing, and may be deleted at any time.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb

from ingest.landing.loads import COMPACTED, TABLE, committed_loads
from ingest.landing.store import give_access, open_store
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import Window, minutes_of_files
from orchestration.warehouse.writer import Report, literals

if TYPE_CHECKING:
    # A build reads the list of what is kept, and waits for no import of Arrow.
    import pyarrow as pa
    import pyarrow.parquet as pq

FOLDER, LIST = "staged", "kept.json"
FORMAT = 1
# The SQL that the last build ran to read a window's responses, but for the names of its files.
COMPILED = Path("compiled", "tidemark", "models", "intermediate", "raw_window.sql")
FILES = re.compile(r"(?<=read_parquet\()\[.*?\](?=, union_by_name)")
RELATION = re.compile(r"\bmain\.(\w+)")
# Bodies that are read at a time, and the rows of a row group.
PIECE_BYTES, GROUP_ROWS = 300_000_000, 122_880
ORDER = ("symbol", "instrument", "key", "tick_ms")
LOCK_WAIT_S = 600.0


@dataclass(frozen=True)
class _View:
    """A staging view: how it is made, which views it reads, and the hash of all that its rows depend on."""

    sql: str
    reads: tuple[str, ...]
    hash: str


@dataclass(frozen=True)
class _Recipe:
    """How the warehouse stages: the query of a window's responses without its files, the views, and the other tables
    that they read."""

    responses: str
    views: Mapping[str, _View]
    seeds: Mapping[str, "pa.Table"]


@dataclass(frozen=True)
class _Kept:
    """What is kept of a file: its minutes, and of each view the hash and the name of its file, empty without rows."""

    minutes: frozenset[int]
    views: Mapping[str, tuple[str, str]]


def keep_staged(settings: Settings, file: str, report: Report = print) -> int:
    """Keep the staged rows of a compacted file that are not kept yet; returns of how many views.

    The writer lock is held for a moment, to read how the views are made. The rest is on one thread of low priority.
    """
    recipe = _read_recipe(settings, report)
    if recipe is None:
        return 0
    with ThreadPoolExecutor(1, initializer=step_back) as aside:
        return aside.submit(_keep, settings, recipe, file, report).result()


def keep_ahead(settings: Settings, workers: int, report: Report = print) -> int:
    """Keep the staged rows of all compacted days by so many processes, which share a build's memory, before a rebuild
    reads them; returns of how many files."""
    recipe = _read_recipe(settings, report)
    if recipe is None:
        return 0
    files = [(day, file) for day, of_day in sorted(compacted_days(settings.landing).items()) for file in of_day]
    each = replace(settings, build_memory=settings.memory_of_each(workers))
    kept = 0
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=step_back) as pool:
        at_work = {pool.submit(_keep_aside, each, recipe, file): day for day, file in files}
        for done in as_completed(at_work):
            views, said = done.result()
            for line in said:
                report(line)
            kept += views > 0
            if views:
                report(f"{at_work[done]}: the rows of {views} views are kept")
    return kept


def compacted_days(landing: str) -> dict[str, list[str]]:
    """Each day with compacted files, and these."""
    found: dict[str, list[str]] = {}
    for load in committed_loads(landing):
        for file in load.files:
            if COMPACTED in file:
                found.setdefault(file.split("/")[-2], []).append(file)
    return found


def step_back() -> None:
    """Lower this thread's priority below the minute's work: on Linux priorities are per thread, and DuckDB has no other
    here."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)


def is_kept(file: str) -> bool:
    """Whether staged rows of a landed file are kept, by whatever version of the project."""
    return _kept(file) is not None


def note_kept(con: duckdb.DuckDBPyConnection, settings: Settings, window: Window) -> None:
    """Note in `pipeline.window_kept` the views whose rows of the open window are kept, with their files."""
    con.execute("delete from pipeline.window_kept")
    if window.built or not window.files or not all(COMPACTED in file for file in window.files):
        return
    kept = [_kept(file) for file in window.files]
    if not all(kept) or not _each_in_one(window.minutes, [one.minutes for one in kept if one]):
        return
    quarantined = f"select 1 from pipeline.quarantine where state <> 'retrying' and tick_ms in ({_minutes(window)})"
    if con.execute(f"{quarantined} limit 1").fetchone() or (recipe := _recipe(con, settings)) is None:
        return
    rows = list[tuple[str, str | None]]()
    for name, view in recipe.views.items():
        stored = [one.views.get(name, ("", "")) for one in kept if one]
        if all(digest == view.hash for digest, _ in stored):
            files = [f"{_folder(file)}/{of}" for file, (_, of) in zip(window.files, stored, strict=True) if of]
            rows += [(name, of) for of in files] or [(name, None)]
    if rows:
        con.execute(f"insert into pipeline.window_kept values {', '.join(f'({literals(*row)})' for row in rows)}")


def remove_kept(landing: str, files: Collection[str]) -> int:
    """Remove what is kept of files other than these, the landing's; returns of how many."""
    filesystem, root = open_store(landing)
    held = {_folder(file).rpartition(f"/{FOLDER}/")[2] for file in files}
    removed = 0
    for day in _names(filesystem, f"{root}/{FOLDER}"):
        names = _names(filesystem, f"{root}/{FOLDER}/{day}")
        gone = [name for name in names if f"{day}/{name}" not in held]
        for name in gone:
            filesystem.rm(f"{root}/{FOLDER}/{day}/{name}", recursive=True)
        if len(gone) == len(names):
            filesystem.rm(f"{root}/{FOLDER}/{day}", recursive=True)
        removed += len(gone)
    return removed


def _names(filesystem: Any, folder: str) -> list[str]:
    try:
        return [path.rstrip("/").rpartition("/")[2] for path in filesystem.ls(folder, detail=False)]
    except FileNotFoundError:
        return []


def _folder(file: str) -> str:
    """Where the staged rows of a landed file are kept."""
    root, _, name = file.rpartition(f"/{TABLE}/")
    return f"{root}/{FOLDER}/{name.removesuffix('.parquet')}"


def _minutes(window: Window) -> str:
    return literals(*window.minutes)


def _each_in_one(minutes: Sequence[int], held: Sequence[frozenset[int]]) -> bool:
    """Whether each of the minutes is in exactly one of these sets."""
    return all(sum(minute in one for one in held) == 1 for minute in minutes)


def _kept(file: str) -> _Kept | None:
    """What is kept of a file; None if nothing is, or in another form than this version's."""
    filesystem, folder = open_store(_folder(file))
    try:
        found = json.loads(filesystem.cat_file(f"{folder}/{LIST}"))
    except (FileNotFoundError, ValueError):
        return None
    if found["format"] != FORMAT:
        return None
    return _Kept(frozenset(found["minutes"]), {name: tuple(of) for name, of in found["views"].items()})


def _read_recipe(settings: Settings, report: Report) -> _Recipe | None:
    """How the warehouse stages; None before its first build. The writer lock is held meanwhile."""
    with (
        warehouse_lock(settings, "staged rows", wait_s=LOCK_WAIT_S, report=report),
        open_warehouse(settings) as con,
    ):
        return _recipe(con, settings)


def _recipe(con: duckdb.DuckDBPyConnection, settings: Settings) -> _Recipe | None:
    """How this warehouse stages; None before its first build."""
    compiled = settings.dbt_target / COMPILED
    if not compiled.exists() or not FILES.search(text := compiled.read_text()):
        return None
    [(catalog,)] = con.execute("select current_database()").fetchall()

    def without_catalog(sql: str) -> str:
        return sql.replace(f'"{catalog}".', "").replace(f"{catalog}.main.", "main.")

    found = con.execute(
        f"select view_name, sql from duckdb_views() where database_name = {literals(catalog)} and schema_name = 'main' "
        "and starts_with(view_name, 'stg_') order by 1"
    ).fetchall()
    made = {name: without_catalog(sql) for name, sql in found}
    read = {name: sorted(set(RELATION.findall(sql))) for name, sql in made.items()}
    tables = {
        name
        for (name,) in con.execute(
            f"select table_name from duckdb_tables() where database_name = {literals(catalog)} and schema_name = 'main'"
        ).fetchall()
    } - {"raw_window"}
    seeds = {
        name: con.execute(f'from main."{name}" order by all').to_arrow_table()
        for name in sorted(tables & {one for names in read.values() for one in names})
    }
    responses = without_catalog(text)
    digests = {"raw_window": _hash(FILES.sub("", responses))}
    digests |= {name: _hash(str(table.to_pylist())) for name, table in seeds.items()}

    def digest(name: str) -> str:
        if name not in digests:
            parts = [made[name], *(digest(one) for one in read[name] if one in made or one in digests)]
            digests[name] = _hash(*parts)
        return digests[name]

    views = {
        name: _View(sql, tuple(one for one in read[name] if one in made), digest(name)) for name, sql in made.items()
    }
    return _Recipe(responses, views, seeds)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _keep_aside(settings: Settings, recipe: _Recipe, file: str) -> tuple[int, list[str]]:
    """`_keep` in a process of its own: of how many views, and what it reports."""
    said = list[str]()
    return _keep(settings, recipe, file, said.append), said


def _keep(settings: Settings, recipe: _Recipe, file: str, report: Report) -> int:
    before = _kept(file)
    known = before.views if before else {}
    wanted = [name for name, view in recipe.views.items() if known.get(name, ("",))[0] != view.hash]
    if not wanted:
        return 0
    partial = settings.home / "dbt" / FOLDER
    partial.mkdir(parents=True, exist_ok=True)
    for left in partial.iterdir():  # by an interrupted run
        if not Path(f"/proc/{left.name.partition('-')[0]}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with (
        TemporaryDirectory(prefix=f"{os.getpid()}-", dir=partial) as folder,
        duckdb.connect(config=_resources(settings, folder)) as con,
    ):
        give_access(con, [file])
        minutes = list[int]()
        written = _Writers(Path(folder))
        for piece in _pieces(con, file):
            minutes += piece
            _read(con, recipe, file, piece)
            failed = written.add(con, {name: recipe.views[name] for name in wanted})
            for name, error in failed.items():
                report(f"the staged rows of {name} are not kept: {error}")
            wanted = [name for name in wanted if name not in failed]
        names = written.finish()
        views = {name: of for name, of in known.items() if name in recipe.views and name not in wanted}
        views |= {name: (recipe.views[name].hash, names.get(name, "")) for name in wanted}
        _store(_folder(file), Path(folder), set(names.values()), minutes, views)
    return len(wanted)


def _resources(settings: Settings, folder: str) -> dict[str, Any]:
    return {"threads": 1, "memory_limit": settings.build_memory, "temp_directory": f"{folder}/spill"}


def _pieces(con: duckdb.DuckDBPyConnection, file: str) -> Iterator[list[int]]:
    """The minutes of a file in order, as many at a time as are read at once."""
    piece, size = list[int](), 0.0
    for _, tick_ms, _, share, *_ in minutes_of_files(con, [file]):
        if piece and size + share > PIECE_BYTES:
            yield piece
            piece, size = [], 0.0
        piece.append(tick_ms)
        size += share
    if piece:
        yield piece


def _read(con: duckdb.DuckDBPyConnection, recipe: _Recipe, file: str, minutes: Sequence[int]) -> None:
    """Make `raw_window` of these minutes, and with the first of them the views over it."""
    made = con.execute("select 1 from duckdb_tables() where table_name = 'raw_window'").fetchone()
    if not made:
        prepare(con)
    con.execute("delete from pipeline.window_minutes")
    con.execute(f"insert into pipeline.window_minutes (tick_ms) select unnest([{literals(*minutes)}]::bigint[])")
    responses = FILES.sub(lambda _: f"[{literals(file)}]", recipe.responses)
    if made:
        con.execute("delete from raw_window")
        con.execute(f"insert into raw_window {responses}")
        return
    con.execute(f"create table raw_window as {responses}")
    for name, rows in recipe.seeds.items():
        con.register("seed", rows)
        con.execute(f'create table main."{name}" as from seed')
        con.unregister("seed")
    there = set[str]()

    def create(name: str) -> None:
        if name not in there:
            there.add(name)
            for one in recipe.views[name].reads:
                create(one)
            con.execute(recipe.views[name].sql)

    for name in recipe.views:
        create(name)


class _Writers:
    """The Parquet files of the views that have rows, written piece by piece."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = dict[str, tuple[str, "pq.ParquetWriter"]]()

    def add(self, con: duckdb.DuckDBPyConnection, views: Mapping[str, _View]) -> dict[str, str]:
        """Write the rows that the views have now; returns the errors of those that failed, whose files are gone."""
        failed = dict[str, str]()
        for name, view in views.items():
            try:
                self._add(con, name, f"{name}.{view.hash}.parquet")
            except duckdb.Error as error:
                failed[name] = str(error).partition("\n")[0]
                if name in self._open:
                    self._open.pop(name)[1].close()
        return failed

    def _add(self, con: duckdb.DuckDBPyConnection, name: str, file: str) -> None:
        columns = [column for (column, *_) in con.execute(f'describe main."{name}"').fetchall()]
        order = ", ".join(column for column in ORDER if column in columns)
        for rows in con.execute(f'from main."{name}" order by {order}').to_arrow_reader(GROUP_ROWS):
            if not rows.num_rows:
                continue
            if name not in self._open:
                self._open[name] = (file, _parquet(self.folder / file, rows.schema))
            self._open[name][1].write_batch(rows)

    def finish(self) -> dict[str, str]:
        """Close the files; returns their names by their views."""
        for _, writer in self._open.values():
            writer.close()
        return {name: file for name, (file, _) in self._open.items()}


def _parquet(file: Path, schema: "pa.Schema") -> "pq.ParquetWriter":
    """A writer whose files are a fifth smaller than by default: numbers hardly recur, and level 3 costs no more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return pq.ParquetWriter(file, schema, compression="zstd", compression_level=3, use_dictionary=texts)  # type: ignore[arg-type]


def _store(
    target: str, folder: Path, names: Collection[str], minutes: Sequence[int], views: Mapping[str, tuple[str, str]]
) -> None:
    """Move the files to where they are kept, then the list of them, and then remove what it does not name."""
    filesystem, root = open_store(target)
    filesystem.makedirs(root, exist_ok=True)
    for name in sorted(names):
        filesystem.put_file(str(folder / name), f"{root}/{name}")
    (folder / LIST).write_text(json.dumps({"format": FORMAT, "minutes": list(minutes), "views": views}))
    filesystem.put_file(str(folder / LIST), f"{root}/{LIST}.new")
    filesystem.mv(f"{root}/{LIST}.new", f"{root}/{LIST}")
    named = {LIST, *(of for _, of in views.values())}
    for name in _names(filesystem, root):
        if name not in named:
            filesystem.rm_file(f"{root}/{name}")
