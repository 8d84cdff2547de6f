"""Compaction of the landing: a day in one file, and no row lost or doubled wherever it is interrupted."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest

from ingest.landing.landing import land
from ingest.landing.loads import committed_loads
from orchestration.config.settings import Settings
from orchestration.warehouse import compaction
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.transform import build
from orchestration.warehouse.windows import next_window
from orchestration.warehouse.writer import connection, writer_lock
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.landed import MINUTES, note_built, quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for, tables
from tests.support.pipeline.recorder_minutes import recorder
from tests.support.pipeline.warehouse import give_built

LATER = "2999-01-01"


def landed_rows(settings: Settings, rows: str = "distinct *") -> list[tuple[object, ...]]:
    files = [file for load in committed_loads(settings.landing) for file in load.files]
    with duckdb.connect() as con:
        return con.execute(f"select {rows} from read_parquet(?) order by all", [files]).fetchall()


def noted(settings: Settings) -> set[str]:
    """The files that the warehouse has its rows from."""
    with connection(settings.warehouse, read_only=True) as con:
        return {file for (file,) in con.execute("select distinct file from pipeline.loads").fetchall()}


def test_a_compacted_day_is_one_committed_file_with_the_same_rows(settings: Settings) -> None:
    before, loads = landed_rows(settings), committed_loads(settings.landing)
    assert compact_landing(settings, LATER) == 1
    after = committed_loads(settings.landing)
    assert [load.load_id for load in after] == [loads[-1].load_id]
    assert landed_rows(settings) == before
    assert len(list(Path(settings.landing).rglob("responses/*/*"))) == 1
    with connection(settings.warehouse) as con:
        assert next_window(con, settings.landing) is None
        assert {row[0] for row in con.execute("select file from pipeline.loads").fetchall()} == {after[0].files[0]}
        land_minutes(settings, [MINUTES[1]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert after[0].files[0] in window.files
    assert compact_landing(settings, LATER) == 0, "a load that is not built is left alone"


def test_a_day_is_compacted_again_after_late_loads_and_a_move(settings: Settings, tmp_path: Path) -> None:
    """Every load of the day is then known from its one file, also those that the first compaction took."""
    before = landed_rows(settings)
    assert compact_landing(settings, LATER) == 1
    (tmp_path / "landing").rename(tmp_path / "moved")
    settings = replace(settings, landing=str(tmp_path / "moved"))
    land_minutes(settings, [MINUTES[-1] + MINUTE])
    with connection(settings.warehouse) as con:
        note_built(con, settings)
    assert compact_landing(settings, LATER) == 1
    (load,) = committed_loads(settings.landing)
    assert noted(settings) == set(load.files)
    assert landed_rows(settings, "*") == landed_rows(settings)
    assert set(before) < set(landed_rows(settings))


def test_unfinished_days_are_not_compacted(settings: Settings) -> None:
    assert compact_landing(settings) == 0
    assert len(committed_loads(settings.landing)) == len(MINUTES)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("removals", [None, 0, 1, len(MINUTES)])
def test_an_interrupted_compaction_loses_nothing(
    settings: Settings, removals: int | None, moved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted after the file is written (None), or after so many originals are removed; then done again, perhaps
    where the landing has been moved to."""
    before = landed_rows(settings)

    class Interrupted(Exception):
        pass

    class Landing(type(fsspec.filesystem("file"))):  # type: ignore[misc]
        left = removals or 0

        def rm_file(self, path: str) -> None:
            if Landing.left == 0:
                raise Interrupted
            Landing.left -= 1
            super().rm_file(path)

    write = compaction._write
    with monkeypatch.context() as patch:
        patch.setattr(compaction, "open_store", lambda url: (Landing(), url))
        if removals is None:

            def write_and_stop(*arguments: object) -> None:
                write(*arguments)  # type: ignore[arg-type]
                raise Interrupted

            patch.setattr(compaction, "_write", write_and_stop)
        with pytest.raises(Interrupted):
            compact_landing(settings, LATER)
    assert landed_rows(settings) == before
    if moved:
        (tmp_path / "landing").rename(tmp_path / "moved")
        settings = replace(settings, landing=str(tmp_path / "moved"))
    compact_landing(settings, LATER)
    assert landed_rows(settings, "*") == before, "no row is there twice"
    assert len(list(Path(settings.landing).rglob("responses/*/*"))) == len(committed_loads(settings.landing)) == 1
    with connection(settings.warehouse) as con:
        assert next_window(con, settings.landing) is None


def test_no_build_waits_while_a_day_is_compacted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[str] = []
    write = compaction._write

    def beside_a_build(*arguments: Any) -> None:
        with writer_lock(settings.home, "a build", wait_s=0):
            held.append("while the file is written")
        write(*arguments)

    monkeypatch.setattr(compaction, "_write", beside_a_build)
    assert compact_landing(settings, LATER) == 1
    assert held == ["while the file is written"]


def test_a_warehouse_rebuilt_meanwhile_keeps_its_files(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = landed_rows(settings), compaction._write

    def beside_a_rebuild(*arguments: Any) -> None:
        write(*arguments)
        with connection(settings.warehouse) as con:
            con.execute("delete from pipeline.loads")

    monkeypatch.setattr(compaction, "_write", beside_a_rebuild)
    assert compact_landing(settings, LATER) == 0
    assert (
        len(list(Path(settings.landing).rglob("responses/*/*")))
        == len(committed_loads(settings.landing))
        == len(MINUTES)
    )
    assert landed_rows(settings) == before


def test_a_compacted_file_read_by_a_concurrent_rebuild_is_unregistered(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebuild, beside a compaction that then gives up, finds its file as a part of the day's newest load."""
    before, originals, write = landed_rows(settings), noted(settings), compaction._write

    def beside_a_rebuild(*arguments: Any) -> None:
        write(*arguments)
        with connection(settings.warehouse) as con:
            con.execute("delete from pipeline.loads")
            note_built(con, settings)
            assert noted_twice(con)
            con.execute("delete from pipeline.loads where file = ?", [min(originals)])

    monkeypatch.setattr(compaction, "_write", beside_a_rebuild)
    assert compact_landing(settings, LATER) == 0
    assert noted(settings) == originals - {min(originals)}
    with connection(settings.warehouse) as con:
        note_built(con, settings)
    assert noted(settings) == originals
    monkeypatch.undo()
    assert compact_landing(settings, LATER) == 1
    assert landed_rows(settings, "*") == before


def noted_twice(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a load is known from two files."""
    return con.execute("select 1 from pipeline.loads group by load_id having count(*) = 2").fetchone() is not None


def test_a_compacted_file_is_kept_by_a_warehouse_that_is_older(settings: Settings) -> None:
    """Restored from a backup, it knows the originals, which are gone: their rows are in the file alone."""
    before = landed_rows(settings)
    with connection(settings.warehouse) as con:
        con.execute("create table backup as from pipeline.loads")
    assert compact_landing(settings, LATER) == 1
    land_minutes(settings, [MINUTES[-1] + MINUTE])
    with connection(settings.warehouse) as con:
        note_built(con, settings)
        con.execute("delete from pipeline.loads where file like '%.compacted-%'")
        con.execute("insert into pipeline.loads from backup")
    compact_landing(settings, LATER)
    assert set(before) < set(landed_rows(settings))


def test_files_of_interrupted_compactions_are_removed(settings: Settings) -> None:
    folder = Path(settings.landing, committed_loads(settings.landing)[0].files[0]).parent
    (folder / "1.0.compacted-1.parquet.partial").write_text("half of it")
    assert compact_landing(settings, LATER) == 1
    assert len(list(folder.iterdir())) == 1


async def test_a_compacted_day_is_built_as_its_loads_are(tmp_path: Path) -> None:
    """Three minutes of every venue: no row of any table depends on the order in which a file has its responses."""
    before = settings_for(tmp_path / "before")
    after = replace(settings_for(tmp_path / "after"), landing=before.landing)
    for settings in (before, after):
        give_dbt(settings)
        give_built(settings)
    async with recorder(universe="small") as (_, minute):
        for n in range(3):
            land(await minute(T0 + n * MINUTE), before.landing, before.recorder / "dlt")
    from_loads = await asyncio.to_thread(built_tables, before)
    assert compact_landing(before, LATER) == 1
    assert await asyncio.to_thread(built_tables, after) == from_loads


def built_tables(settings: Settings) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables that are made of facts, after a build."""
    build(settings, report=quiet)
    with connection(settings.warehouse, read_only=True) as con:
        names = con.execute("select table_name from duckdb_tables() where schema_name = 'main' order by 1").fetchall()
    return tables(settings.warehouse, [name for (name,) in names])
