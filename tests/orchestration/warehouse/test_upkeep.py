"""Upkeep: the landing compacted without losing or doubling a row; old tables, runs and logs go; dead runs end."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import fsspec
import pytest

from ingest.landing.landing import committed_loads
from orchestration.code_location.upkeep import end_dead_runs, mark_alive, prune_runs, remove_old_logs
from orchestration.config.settings import Settings
from orchestration.warehouse import compaction, trim
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.served import DAY_MS
from orchestration.warehouse.trim import trim_warehouse
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import next_window
from orchestration.warehouse.writer import connection, writer_lock
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.dbt_project import served as project_serves
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, note_days, settings_for

LATER = "2999-01-01"
MINUTES = [T0 + n * MINUTE for n in range(3)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Three landed minutes, noted as built."""
    settings = settings_for(tmp_path)
    give_parsed(settings)
    land_minutes(settings, MINUTES)
    with connection(settings.warehouse) as con:
        prepare(con)
        note_built(con, settings)
    return settings


def note_built(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """The watermark of everything that waits, without the models."""
    window = next_window(con, settings.landing)
    assert window is not None
    for row in window.finished:
        con.execute("insert into pipeline.loads values (?, ?, ?, ?, ?, 1)", list(row))


def landed(settings: Settings, rows: str = "distinct *") -> list[tuple[object, ...]]:
    files = [file for load in committed_loads(settings.landing) for file in load.files]
    with duckdb.connect() as con:
        return con.execute(f"select {rows} from read_parquet(?) order by all", [files]).fetchall()


def noted(settings: Settings) -> set[str]:
    """The files that the warehouse has its rows from."""
    with connection(settings.warehouse, read_only=True) as con:
        return {file for (file,) in con.execute("select distinct file from pipeline.loads").fetchall()}


def test_a_compacted_day_is_one_committed_file_with_the_same_rows(settings: Settings) -> None:
    before, loads = landed(settings), committed_loads(settings.landing)
    assert compact_landing(settings, LATER) == 1
    after = committed_loads(settings.landing)
    assert [load.load_id for load in after] == [loads[-1].load_id]
    assert landed(settings) == before
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
    before = landed(settings)
    assert compact_landing(settings, LATER) == 1
    (tmp_path / "landing").rename(tmp_path / "moved")
    settings = replace(settings, landing=str(tmp_path / "moved"))
    land_minutes(settings, [MINUTES[2] + MINUTE])
    with connection(settings.warehouse) as con:
        note_built(con, settings)
    assert compact_landing(settings, LATER) == 1
    (load,) = committed_loads(settings.landing)
    assert noted(settings) == set(load.files)
    assert landed(settings, "*") == landed(settings)
    assert set(before) < set(landed(settings))


def test_days_that_go_on_are_left_alone(settings: Settings) -> None:
    assert compact_landing(settings) == 0
    assert len(committed_loads(settings.landing)) == 3


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("removals", [None, 0, 1, 3])
def test_an_interrupted_compaction_loses_nothing(
    settings: Settings, removals: int | None, moved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted after the file is written (None), or after so many originals are removed; then done again, perhaps
    where the landing has been moved to."""
    before = landed(settings)

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
        patch.setattr(fsspec.core, "url_to_fs", lambda url: (Landing(), url))
        if removals is None:

            def write_and_stop(*arguments: object) -> None:
                write(*arguments)  # type: ignore[arg-type]
                raise Interrupted

            patch.setattr(compaction, "_write", write_and_stop)
        with pytest.raises(Interrupted):
            compact_landing(settings, LATER)
    assert landed(settings) == before
    if moved:
        (tmp_path / "landing").rename(tmp_path / "moved")
        settings = replace(settings, landing=str(tmp_path / "moved"))
    compact_landing(settings, LATER)
    assert landed(settings, "*") == before, "no row is there twice"
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


def test_a_warehouse_made_anew_meanwhile_keeps_its_files(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = landed(settings), compaction._write

    def beside_a_rebuild(*arguments: Any) -> None:
        write(*arguments)
        with connection(settings.warehouse) as con:
            con.execute("delete from pipeline.loads")

    monkeypatch.setattr(compaction, "_write", beside_a_rebuild)
    assert compact_landing(settings, LATER) == 0
    assert len(list(Path(settings.landing).rglob("responses/*/*"))) == len(committed_loads(settings.landing)) == 3
    assert landed(settings) == before


def test_a_compacted_file_read_by_a_concurrent_rebuild_is_unregistered(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebuild, beside a compaction that then gives up, finds its file as a part of the day's newest load."""
    before, originals, write = landed(settings), noted(settings), compaction._write

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
    assert landed(settings, "*") == before


def noted_twice(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a load is known from two files."""
    return con.execute("select 1 from pipeline.loads group by load_id having count(*) = 2").fetchone() is not None


def test_a_compacted_file_is_kept_by_a_warehouse_that_is_older(settings: Settings) -> None:
    """Restored from a backup, it knows the originals, which are gone: their rows are in the file alone."""
    before = landed(settings)
    with connection(settings.warehouse) as con:
        con.execute("create table backup as from pipeline.loads")
    assert compact_landing(settings, LATER) == 1
    land_minutes(settings, [MINUTES[2] + MINUTE])
    with connection(settings.warehouse) as con:
        note_built(con, settings)
        con.execute("delete from pipeline.loads where file like '%.compacted-%'")
        con.execute("insert into pipeline.loads from backup")
    compact_landing(settings, LATER)
    assert set(before) < set(landed(settings))


def test_files_of_interrupted_compactions_are_removed(settings: Settings) -> None:
    folder = Path(settings.landing, committed_loads(settings.landing)[0].files[0]).parent
    (folder / "1.0.compacted-1.parquet.partial").write_text("half of it")
    assert compact_landing(settings, LATER) == 1
    assert len(list(folder.iterdir())) == 1


def test_a_build_comes_between_the_slices_of_a_trim(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trim, "SLICE_S", 0)
    with connection(settings.warehouse) as con:
        con.execute(
            f"create table int_market_minutes as select t as minute_ms from range({T0}, {T0 + DAY_MS}, 60000) r(t)"
        )
    note_days(settings.warehouse, T0 + 40 * DAY_MS)
    left = []

    def build(seconds: float) -> None:
        with writer_lock(settings.home, "a build", wait_s=0), connection(settings.warehouse) as con:
            left.append(con.execute("select count(*) from int_market_minutes").fetchall()[0][0])

    monkeypatch.setattr("orchestration.warehouse.trim.time.sleep", build)
    assert trim_warehouse(settings, T0 + 40 * DAY_MS) == 1440
    assert left == [1440 - 60 * n for n in range(25)]


def test_fine_tables_are_trimmed_and_coarse_ones_kept(settings: Settings) -> None:
    now = T0 + 40 * DAY_MS
    with connection(settings.warehouse) as con:
        for table, column in (("int_market_minutes", "minute_ms"), ("int_market_bars", "minute_ms")):
            con.execute(f"create table {table} as select t as {column} from range({T0}, {now}, {DAY_MS}) r(t)")
        for table in (*(one.name for one in project_serves().tables), "xray_risk"):
            con.execute(f"create table {table} as from range({T0}, {now}, {DAY_MS}) r(t)")
        con.execute(
            "create table int_ratios as select t, unnest([300000, 3600000, 86400000]) as period_ms "
            f"from range({T0}, {now}, {DAY_MS}) r(t)"
        )
        for build_id, finished in ((1, T0), (2, now - DAY_MS), (3, now)):
            con.execute("insert into pipeline.builds values (?, 0, ?, 0, [], [])", [build_id, finished])
            con.execute("insert into pipeline.late_rows values (?, 0, 'm', 'b')", [build_id])
    note_days(settings.warehouse, now)
    assert trim_warehouse(settings, now) == 4 * 31 + 7 * 8 + 24
    with connection(settings.warehouse) as con:
        assert con.execute("select min(t) from series_market_1m").fetchone() == (now - 9 * DAY_MS,)
        assert con.execute("select min(t) from series_base_15m").fetchone() == (now - 32 * DAY_MS,)
        assert con.execute("select min(t) from xray_risk").fetchone() == (now - 16 * DAY_MS,)
        for table in ("series_base_1h", "series_ratios_1h", "series_depth_1h"):
            assert con.execute(f"select min(t) from {table}").fetchone() == (T0,)
        first = "select list(t order by period_ms) from (select period_ms, min(t) as t from int_ratios group by all)"
        assert con.execute(first).fetchone() == ([now - 32 * DAY_MS, T0, T0],)
        assert con.execute("select list(build_id order by 1) from pipeline.builds").fetchone() == ([2, 3],)
        assert con.execute("select list(build_id order by 1) from pipeline.late_rows").fetchone() == ([2, 3],)
        trimmed = con.execute("select value from pipeline.settings where name = 'trimmed_before_ms'").fetchone()
    assert trimmed == (str(now - 9 * DAY_MS),)


@pytest.mark.parametrize("recorded", [False, True], ids=["nothing recorded", "minutes recorded"])
def test_a_clock_that_is_far_ahead_takes_nothing_that_is_served(settings: Settings, recorded: bool) -> None:
    now, ahead = T0 + 40 * DAY_MS, T0 + 4000 * DAY_MS
    note_days(settings.warehouse, now)
    if recorded:
        note_days(settings.warehouse, ahead, 0)
    with connection(settings.warehouse) as con:
        con.execute(f"create table series_market_1m as from range({T0}, {now + DAY_MS}, {DAY_MS}) r(t)")
    trim_warehouse(settings, ahead)
    served = project_serves().tiers[0].keep_days or 0
    with connection(settings.warehouse) as con:
        kept = con.execute("select count(*), max(t) from series_market_1m").fetchone()
        trimmed = con.execute("select value::bigint from pipeline.settings where name = 'trimmed_before_ms'").fetchone()
    assert kept == (served + 3 - recorded, now)
    assert trimmed == (now - (served + 2 - recorded) * DAY_MS,), "later windows are of whole days"
    trim_warehouse(settings, now)
    with connection(settings.warehouse) as con:
        assert con.execute("select count(*), max(t) from series_market_1m").fetchone() == kept


@dg.job
def nothing() -> None:
    """A job without a step."""


def test_old_runs_are_pruned_with_their_logs(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        runs = [nothing.execute_in_process(instance=instance).run_id for _ in range(2)]
        (tmp_path / "storage" / runs[0]).mkdir(parents=True, exist_ok=True)
        assert prune_runs(instance, tmp_path) == 0
        assert prune_runs(instance, tmp_path, now=time.time() + 2 * 86_400) == 2
        assert instance.get_runs() == []
        assert not (tmp_path / "storage" / runs[0]).exists()


def test_a_run_whose_process_is_gone_is_ended(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        living, dead, starting = (
            instance.create_run_for_job(nothing, status=dg.DagsterRunStatus.STARTED).run_id for _ in range(3)
        )
        mark_alive(tmp_path, living)
        code = "import sys; from pathlib import Path; from orchestration.code_location.upkeep import mark_alive; "
        code += "mark_alive(Path(sys.argv[1]), sys.argv[2])"
        subprocess.run([sys.executable, "-c", code, str(tmp_path), dead], check=True, timeout=60)
        assert end_dead_runs(instance, tmp_path) == [dead]
        run = instance.get_run_by_id(dead)
        assert run is not None
        assert run.status == dg.DagsterRunStatus.FAILURE
        assert end_dead_runs(instance, tmp_path, now=time.time() + 3600) == [starting]


def test_old_logs_are_removed(settings: Settings) -> None:
    settings.logs.mkdir()
    settings.dbt_logs.mkdir(parents=True)
    old = [settings.logs / "recorder.log.3", settings.dbt_logs / "dbt.log"]
    quiet, new = settings.logs / "server.log", settings.logs / "recorder.log.1"
    for file in (*old, quiet, new):
        file.write_text("a line")
    for file in (*old, quiet):
        os.utime(file, (time.time() - 20 * 86_400,) * 2)
    assert remove_old_logs(settings) == 2
    assert not any(file.exists() for file in old)
    assert quiet.exists(), "its process still has it open"
    assert new.exists()
    shutil.rmtree(settings.logs)
    assert remove_old_logs(settings) == 0
