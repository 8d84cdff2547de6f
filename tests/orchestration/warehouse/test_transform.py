"""Builds: windows of committed loads, the watermark last, nothing lost or doubled whenever a build is killed."""

import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from ingest.landing.landing import committed_loads
from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner import process as dbt_process
from orchestration.warehouse.transform import build, forget
from orchestration.warehouse.watermark import close_window, open_window, prepare
from orchestration.warehouse.windows import LandingFileError, next_window, waiting_loads
from orchestration.warehouse.writer import PipelineError, WriterBusyError, connection, writer_lock
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import MINUTE, T0, command_env, land_minutes, run, settings_for, start, tables
from tests.support.pipeline.warehouse import give_built

MINUTES = [T0 + n * MINUTE for n in range(4)]


def quiet(_: str) -> None:
    """No progress lines."""


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with four landed minutes, nothing built."""
    settings = settings_for(tmp_path_factory.mktemp("landed"))
    land_minutes(settings, MINUTES)
    return settings


@pytest.fixture(scope="module")
def undisturbed(landed: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The same landing, built in one go and from nothing."""
    settings = copied(landed, tmp_path_factory.mktemp("undisturbed"))
    Path(settings.warehouse).unlink()
    assert build(settings, say=quiet) is not None
    assert all(rows for name, rows in tables(settings.warehouse).items() if name != "gaps")
    return settings


def copied(settings: Settings, home: Path) -> Settings:
    """A home of its own with the same landing, the project read, and a warehouse without rows where none was built."""
    shutil.copytree(settings.home, home, symlinks=True, dirs_exist_ok=True)
    copy = settings_for(home)
    give_dbt(copy)
    give_built(copy)
    return copy


def planned(settings: Settings, **bounds: int) -> list[tuple[int, ...]]:
    """The windows that would be built from nothing, as if each had been."""
    windows = []
    with duckdb.connect() as con:
        prepare(con)
        con.execute("create table main.int_touched_minutes (minute_ms bigint)")
        con.execute(
            "create table main.touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar)"
        )
        while window := next_window(con, settings.landing, **bounds):
            windows.append(window.ticks)
            close_window(con, window)
    return windows


def test_windows_are_bounded_by_ticks_and_by_bytes(landed: Settings) -> None:
    assert planned(landed) == [tuple(MINUTES)]
    assert planned(landed, max_ticks=3) == [tuple(MINUTES[:3]), tuple(MINUTES[3:])]
    assert planned(landed, max_bytes=1) == [(minute,) for minute in MINUTES]


def test_a_window_holds_older_loads_with_rows_of_its_ticks(landed: Settings, tmp_path: Path) -> None:
    settings = copied(landed, tmp_path)
    with duckdb.connect() as con:
        prepare(con)
        for load, tick in zip(_loads(settings), MINUTES, strict=True):
            con.execute("insert into pipeline.loads values (?, ?, ?, ?, 1, 1)", [load[0], load[1], tick, tick])
        assert next_window(con, settings.landing) is None
        land_minutes(settings, [MINUTES[1]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert window.ticks == (MINUTES[1],)
    assert len(window.files) == 2
    assert _loads(settings)[1][1] in window.files


def test_a_window_of_a_trimmed_day_takes_the_whole_day(landed: Settings, tmp_path: Path) -> None:
    """Where the fine tables are trimmed, a late row's day is built from all of its minutes."""
    settings = copied(landed, tmp_path)
    with duckdb.connect() as con:
        prepare(con)
        for load, tick in zip(_loads(settings), MINUTES, strict=True):
            con.execute("insert into pipeline.loads values (?, ?, ?, ?, 1, 1)", [load[0], load[1], tick, tick])
        con.execute("insert into pipeline.settings values ('trimmed_before_ms', ?)", [str(T0 + 86_400_000)])
        land_minutes(settings, [MINUTES[1]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert window.ticks == tuple(MINUTES)


def test_loads_are_found_after_a_clock_that_was_ahead(landed: Settings, tmp_path: Path) -> None:
    """Its ids are in the future, and so is its list of all loads: what came before that list is looked for again."""
    settings = copied(landed, tmp_path)
    ahead = time.time() + 40 * 86_400
    oldest, *_, new = (load_id for load_id, _ in _loads(settings))
    old = f"{time.time() - 86_400:.7f}"
    for file in list(Path(settings.landing).rglob(f"*{oldest}*")):
        file.rename(file.with_name(file.name.replace(oldest, old)))
    with duckdb.connect() as con:
        prepare(con)
        con.execute("insert into pipeline.loads values (?, null, null, null, 0, 1)", [f"{ahead:.7f}"])
        con.execute("insert into pipeline.settings values ('listed_ms', ?)", [str(int(ahead * 1000))])
        assert {load.load_id for load in waiting_loads(con, settings.landing)} >= {old, new}
        # From now on only the newest are looked for.
        assert new in {load.load_id for load in waiting_loads(con, settings.landing)}
        assert old not in {load.load_id for load in waiting_loads(con, settings.landing)}


def _loads(settings: Settings) -> list[tuple[str, str]]:
    return [(load.load_id, load.files[0]) for load in committed_loads(settings.landing)]


def test_a_missing_or_broken_file_is_named(landed: Settings, tmp_path: Path) -> None:
    settings = copied(landed, tmp_path)
    file = Path(_loads(settings)[2][1])
    file.write_bytes(b"PAR1 cut off")
    with pytest.raises(LandingFileError, match=file.name):
        build(settings, say=quiet)
    assert not _built(settings)


def test_a_built_file_that_is_gone_is_named_with_the_remedy(undisturbed: Settings, tmp_path: Path) -> None:
    settings = copied(undisturbed, tmp_path)
    gone = Path(_loads(settings)[1][1])
    gone.unlink()
    land_minutes(settings, [MINUTES[1]])
    with pytest.raises(LandingFileError, match=rf"(?s){gone}.*tidemark build --rebuild"):
        build(settings, say=quiet)
    assert build(settings, rebuild=True, say=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


def test_a_moved_home_goes_on(landed: Settings, undisturbed: Settings, tmp_path: Path) -> None:
    """What was built before the move is needed after it, also where a whole day is built from its landed files."""
    before = copied(landed, tmp_path / "before")
    assert build(before, say=quiet) is not None
    before.home.rename(tmp_path / "after")
    settings = settings_for(tmp_path / "after")
    give_dbt(settings)
    land_minutes(settings, [MINUTES[1]])
    assert build(settings, say=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)
    with connection(settings.warehouse) as con:
        con.execute("insert into pipeline.settings values ('trimmed_before_ms', ?)", [str(T0 + 86_400_000)])
        land_minutes(settings, [MINUTES[2]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert window.ticks == tuple(MINUTES)
    assert set(window.files) == {file for load in committed_loads(settings.landing) for file in load.files}


def test_a_failing_model_is_named_and_the_watermark_stays(landed: Settings, tmp_path: Path) -> None:
    settings = copied(landed, tmp_path)
    with connection(settings.warehouse) as con:
        con.execute("alter table int_market_minutes rename column price to cost")
    with pytest.raises(PipelineError, match="int_market_minutes"):
        build(settings, say=quiet)
    assert not _built(settings)


def _built(settings: Settings) -> list[tuple[int, list[int]]]:
    with connection(settings.warehouse, read_only=True) as con:
        return con.execute("select build_id, ticks from pipeline.builds order by 1").fetchall()


def test_building_again_does_nothing_and_minute_by_minute_makes_the_same(
    landed: Settings, undisturbed: Settings, tmp_path: Path
) -> None:
    assert build(undisturbed, say=quiet) is None
    settings = copied(landed, tmp_path)
    result = build(settings, max_ticks=2, say=quiet)
    assert result is not None
    assert [len(made.ticks) for made in result.builds] == [2, 2]
    assert (result.ticks, result.loads, result.more) == (4, 4, False)
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


@pytest.mark.parametrize("content", [b"no database" * 1000, b""])
def test_a_rebuild_renames_a_damaged_warehouse(undisturbed: Settings, tmp_path: Path, content: bytes) -> None:
    settings = copied(undisturbed, tmp_path)
    warehouse = Path(settings.warehouse)
    # DuckDB takes an empty file for a new database.
    warehouse.write_bytes(content or warehouse.read_bytes()[:20_000])
    with pytest.raises(PipelineError, match="tidemark build --rebuild"):
        build(settings, say=quiet)
    said: list[str] = []
    if content:
        # What follows is a build from nothing, whatever the damage was.
        forget(settings, said.append)
        assert not warehouse.exists()
    else:
        assert build(settings, rebuild=True, say=said.append) is not None
        assert tables(settings.warehouse) == tables(undisturbed.warehouse)
    [aside] = tmp_path.glob("*.damaged-*")
    assert any(str(aside) in line for line in said)


def test_a_clock_that_was_ahead_does_not_make_the_future_the_newest(landed: Settings) -> None:
    future = time.time_ns() // 1_000_000 + 30 * 24 * 60 * MINUTE
    with duckdb.connect() as con:
        prepare(con)
        con.execute("create table main.int_touched_minutes (minute_ms bigint)")
        con.execute(
            "create table main.touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar)"
        )
        con.execute("insert into pipeline.builds values (1, 0, 0, ?, [], [])", [future])
        window = next_window(con, landed.landing)
        assert window is not None
        open_window(con, window)
        [(reported,)] = con.execute("select value::bigint from pipeline.settings where name = 'as_of_ms'").fetchall()
        assert reported == close_window(con, window).as_of_ms == window.as_of_ms
        assert close_window(con, replace(window, as_of_ms=future)).as_of_ms < future


def test_a_manifest_is_of_these_files_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their times are: the files of a release may be older than the manifest of the one before."""
    settings, project = settings_for(tmp_path / "home"), tmp_path / "project"
    give_dbt(settings)
    manifest = settings.dbt_target / "manifest.json"
    shutil.copytree(dbt_process.PROJECT, project, ignore=shutil.ignore_patterns("target", "logs"))
    monkeypatch.setattr(dbt_process, "PROJECT", project)
    assert dbt_process.is_current(manifest)
    file = project / "macros" / "time.sql"
    before, content = file.stat(), file.read_text()
    file.write_text(content + " ")
    os.utime(file, (before.st_atime, before.st_mtime - 86_400))
    assert not dbt_process.is_current(manifest)
    file.write_text(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert dbt_process.is_current(manifest)
    file.unlink()
    assert not dbt_process.is_current(manifest)


def test_killed_builds_lose_nothing_and_double_nothing(landed: Settings, undisturbed: Settings, tmp_path: Path) -> None:
    """`kill -9` at random points of a build, dbt left behind: the next build makes what an undisturbed one makes."""
    settings = copied(landed, tmp_path)
    chance = random.Random(2)
    for _ in range(5):
        process = start(settings, "build")
        try:
            process.wait(chance.uniform(0.5, 4.0))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
    run(settings, "build")
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)
    assert [tick for _, ticks in _built(settings) for tick in ticks] == MINUTES


@pytest.mark.parametrize("point", ["open_window", "dbt", "close_window"])
def test_a_build_that_dies_at_a_seam_is_done_again(
    point: str, landed: Settings, undisturbed: Settings, tmp_path: Path
) -> None:
    """After the window is written, after dbt, and inside the watermark's transaction."""
    settings = copied(landed, tmp_path)
    die = "import os, orchestration.warehouse.transform as t, orchestration.warehouse.watermark as w\n"
    die += {
        "open_window": "t.run_dbt = lambda *a, **k: os.kill(os.getpid(), 9)\n",
        "dbt": "t.close_window = lambda *a, **k: os.kill(os.getpid(), 9)\n",
        "close_window": "w._insert_build = lambda *a, **k: os.kill(os.getpid(), 9)\n",
    }[point]
    assert (
        _python(settings, die + "from orchestration.config.settings import Settings\nt.build(Settings.from_env())")
        == -9
    )
    assert not _built(settings)
    assert build(settings, say=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


def _python(settings: Settings, code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], env=command_env(settings), timeout=300).returncode


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path, "build", say=quiet),
        pytest.raises(WriterBusyError, match="build"),
        writer_lock(tmp_path, "publish", wait_s=0, say=quiet),
    ):
        pass
    with writer_lock(tmp_path, "publish", wait_s=0, say=quiet):
        pass


def test_a_child_that_outlives_its_parent_is_still_the_writer(tmp_path: Path) -> None:
    with writer_lock(tmp_path, "build", say=quiet) as lock:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock,))
    with pytest.raises(WriterBusyError), writer_lock(tmp_path, "publish", wait_s=0, say=quiet):
        pass
    child.communicate()
    deadline = time.monotonic() + 10
    while True:
        try:
            with writer_lock(tmp_path, "publish", wait_s=0, say=quiet):
                return
        except WriterBusyError:
            assert time.monotonic() < deadline
