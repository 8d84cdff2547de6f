"""Builds: the watermark moves last, nothing is lost or doubled whenever a build is killed, and damage is named."""

import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.landing.loads import committed_loads
from orchestration.config.settings import Settings
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.dbt_runner.process import DbtError, run_dbt
from orchestration.warehouse.transform import build, forget, windows_to_build
from orchestration.warehouse.windows import LandingFileError, next_window
from orchestration.warehouse.writer import PipelineError, connection
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.dbt_server import wait_until
from tests.support.pipeline.landed import MINUTES, load_files, quiet, ready_to_build
from tests.support.pipeline.pipeline_home import (
    COINS,
    MINUTE,
    T0,
    command_env,
    land_minutes,
    land_rows,
    past_rows,
    run,
    settings_for,
    start,
    tables,
)
from tests.support.pipeline.warehouse import give_built


@pytest.fixture(scope="module")
def undisturbed(landed: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The same landing, built in one go and from nothing."""
    settings = ready_to_build(landed, tmp_path_factory.mktemp("undisturbed"))
    Path(settings.warehouse).unlink()
    assert build(settings, report=quiet) is not None
    assert all(rows for name, rows in tables(settings.warehouse).items() if name != "gaps")
    return settings


def test_a_missing_or_broken_file_is_named(landed: Settings, tmp_path: Path) -> None:
    settings = ready_to_build(landed, tmp_path)
    file = Path(load_files(settings)[2][1])
    file.write_bytes(b"PAR1 cut off")
    with pytest.raises(LandingFileError, match=file.name):
        build(settings, report=quiet)
    assert not _built(settings)


def test_a_built_file_that_is_gone_is_named_with_the_remedy(undisturbed: Settings, tmp_path: Path) -> None:
    settings = ready_to_build(undisturbed, tmp_path)
    gone = Path(load_files(settings)[1][1])
    gone.unlink()
    land_minutes(settings, [MINUTES[1]])
    with pytest.raises(LandingFileError, match=rf"(?s){gone}.*tidemark build --rebuild"):
        build(settings, report=quiet)
    assert build(settings, rebuild=True, report=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


def test_a_moved_home_continues(landed: Settings, undisturbed: Settings, tmp_path: Path) -> None:
    """What was built before the move is needed after it, also where a whole day is built from its landed files."""
    before = ready_to_build(landed, tmp_path / "before")
    assert build(before, report=quiet) is not None
    before.home.rename(tmp_path / "after")
    settings = settings_for(tmp_path / "after")
    give_dbt(settings)
    land_minutes(settings, [MINUTES[1]])
    assert build(settings, report=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)
    with connection(settings.warehouse) as con:
        con.execute("insert into pipeline.settings values ('trimmed_before_ms', ?)", [str(T0 + 86_400_000)])
        land_minutes(settings, [MINUTES[2]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert window.minutes == tuple(MINUTES)
    assert set(window.files) == {file for load in committed_loads(settings.landing) for file in load.files}


def test_a_failing_model_is_named_and_the_watermark_stays(landed: Settings, tmp_path: Path) -> None:
    settings = ready_to_build(landed, tmp_path)
    with connection(settings.warehouse) as con:
        con.execute("alter table int_market_minutes rename column price to cost")
    with pytest.raises(PipelineError, match="int_market_minutes"):
        build(settings, report=quiet)
    assert not _built(settings)


def _built(settings: Settings) -> list[tuple[int, list[int]]]:
    with connection(settings.warehouse, read_only=True) as con:
        return con.execute("select build_id, built_minutes from pipeline.builds order by 1").fetchall()


def test_building_again_does_nothing_and_minute_by_minute_makes_the_same(
    landed: Settings, undisturbed: Settings, tmp_path: Path
) -> None:
    assert build(undisturbed, report=quiet) is None
    # With models side by side.
    settings = replace(ready_to_build(landed, tmp_path), build_threads=2)
    assert settings.models_at_once > undisturbed.models_at_once
    result = build(settings, max_minutes=2, report=quiet)
    assert result is not None
    assert [len(made.minutes) for made in result.builds] == [2, 2]
    assert (result.minutes, result.loads, result.more) == (4, 4, False)
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


def test_late_bars_are_restated_with_the_fourth_minute_of_ten(tmp_path: Path) -> None:
    """Bars of the minutes before and of minutes that were not recorded are in the series at once, others later."""
    settings = settings_for(tmp_path)
    give_dbt(settings)
    give_built(settings)

    def with_bars() -> tuple[set[int], set[int]]:
        """The minutes that have bars of all coins, and those that have them in the series."""
        with connection(settings.warehouse, read_only=True) as con:
            known, restated = (
                con.execute(
                    f"select (t - {T0}) // {MINUTE} from {rows} group by t having count(*) = {len(COINS)}"
                ).fetchall()
                for rows in (
                    "(select minute_ms as t from int_market_bars)",
                    "series_market_1m where volume_usd is not null",
                )
            )
        return {minute for (minute,) in known}, {minute for (minute,) in restated}

    land_minutes(settings, [T0 + minute * MINUTE for minute in range(5, 13)], late_bars=0)
    assert build(settings, report=quiet) is not None
    assert with_bars() == (set(), set())
    land_minutes(settings, [T0 + 13 * MINUTE], late_bars=31)
    assert build(settings, report=quiet) is not None
    assert with_bars() == (set(range(-18, 13)), {*range(-18, 5), *range(8, 13)})
    land_minutes(settings, [T0 + 14 * MINUTE], late_bars=1)
    assert build(settings, report=quiet) is not None
    assert with_bars() == (set(range(-18, 14)), set(range(-18, 14)))
    restated = tables(settings.warehouse)
    assert build(settings, rebuild=True, report=quiet) is not None
    assert tables(settings.warehouse) == restated


def test_the_past_in_windows_of_its_own_gives_the_same_rows(landed: Settings, tmp_path: Path) -> None:
    """As the minute's job builds: what was recorded first, then the past, with minutes that are then built again."""
    together, apart = (ready_to_build(landed, tmp_path / name) for name in ("together", "apart"))
    for minute in MINUTES[:2]:
        land_rows(together, past_rows(minute, hours=3 + (minute - T0) // MINUTE))
    shutil.copytree(together.landing, apart.landing, dirs_exist_ok=True)
    assert build(together, report=quiet) is not None
    built = list[tuple[int, ...]]()
    for which in ("recorded", "past"):
        with warehouse_lock(apart, "build", report=quiet) as lock:
            for opened in windows_to_build(apart, which=which, report=quiet):
                run_dbt(apart, opened.arguments, lock=lock)
                built.append(opened.window.minutes)
    assert built == [tuple(MINUTES), tuple(MINUTES[:2])]
    assert tables(apart.warehouse) == tables(together.warehouse)
    [(oldest,)] = tables(apart.warehouse, ["(select min(t) from series_market_1m)"]).values()
    assert oldest == (T0 - 4 * 60 * MINUTE,)


def test_the_past_has_its_turn_also_where_minutes_leave_it_no_time(
    landed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ready_to_build(landed, tmp_path)
    clock = [MINUTES[-1]]
    monkeypatch.setattr("orchestration.warehouse.transform.now_ms", lambda: clock[0])

    def opened(after_s: float) -> list[int]:
        """Land a load of the past and open windows of it, without dbt; the newest minute of each."""
        clock[0] += MINUTE
        land_rows(settings, past_rows(clock[0], hours=1))
        with warehouse_lock(settings, "build", report=quiet):
            found = windows_to_build(settings, stop_after_s=after_s, which="past", report=quiet)
            return [one.window.minutes[-1] for one in found]

    first = clock[0] + MINUTE
    assert opened(after_s=0.0) == [first], "none was built yet"
    assert [opened(after_s=0.0) for _ in range(3)] == [[], [], []]
    assert opened(after_s=0.0) == [first + 4 * MINUTE]
    assert opened(after_s=9.0) == [first + 5 * MINUTE], "there is time"
    assert opened(after_s=0.0) == []
    clock[0] -= 60 * MINUTE
    assert len(opened(after_s=0.0)) == 1, "the clock was set back"


@pytest.mark.parametrize("content", [b"no database" * 1000, b""])
def test_a_rebuild_renames_a_damaged_warehouse(undisturbed: Settings, tmp_path: Path, content: bytes) -> None:
    settings = ready_to_build(undisturbed, tmp_path)
    warehouse = Path(settings.warehouse)
    # DuckDB takes an empty file for a new database.
    warehouse.write_bytes(content or warehouse.read_bytes()[:20_000])
    with pytest.raises(PipelineError, match="tidemark build --rebuild"):
        build(settings, report=quiet)
    said: list[str] = []
    # What a rebuild begins with. What follows is a build from nothing, whatever the damage was.
    forget(settings, said.append)
    assert not warehouse.exists()
    [aside] = tmp_path.glob("*.damaged-*")
    assert any(str(aside) in line for line in said)


def test_killed_builds_lose_nothing_and_double_nothing(landed: Settings, undisturbed: Settings, tmp_path: Path) -> None:
    """`kill -9` at random points of a build, dbt left behind: the next build makes what an undisturbed one makes."""
    settings = ready_to_build(landed, tmp_path)
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
    assert [minute for _, instants in _built(settings) for minute in instants] == MINUTES


SEAMS = {
    "t.run_dbt = lambda *a, **k: os.kill(os.getpid(), 9)": "the window is written",
    "t.close = lambda *a, **k: os.kill(os.getpid(), 9)": "dbt has run",
    "w._insert_build = lambda *a, **k: os.kill(os.getpid(), 9)": "inside the watermark's transaction",
}


def test_builds_that_die_at_each_seam_are_done_again(landed: Settings, undisturbed: Settings, tmp_path: Path) -> None:
    """Each begins with what the one before left, and makes what an undisturbed build makes; only the last is noted."""
    settings = ready_to_build(landed, tmp_path)
    for die, seam in SEAMS.items():
        code = "import os, orchestration.warehouse.closing as c, orchestration.warehouse.transform as t\n"
        code += f"import orchestration.warehouse.watermark as w\nc.MOST_MINUTES = 0\n{die}\n"
        code += "from orchestration.config.settings import Settings\nt.build(Settings.from_env())"
        assert _python(settings, code) == -9, seam
        assert not _built(settings), seam
        if seam != "the window is written":
            assert tables(settings.warehouse) == tables(undisturbed.warehouse), seam
    assert build(settings, report=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


DYING_SERVER = """
import os, sys
import orchestration.publish.at_once as at_once
from orchestration.cli.main import app
{die} = lambda *a, **k: os.kill(os.getpid(), 9)
sys.argv = ["tidemark", "dbt-server"]
app()
"""


@pytest.mark.parametrize("die", ["at_once.close", "at_once.has_its_name"])
def test_a_build_whose_dbt_dies_while_it_closes_the_window_is_done_again(
    landed: Settings, undisturbed: Settings, tmp_path: Path, die: str
) -> None:
    """Before the watermark is moved and after it: nothing of the build is in the file."""
    settings = ready_to_build(landed, tmp_path)
    place = settings.dbt_target.parent / "dbt.sock"
    ready = place.readlink()
    place.unlink()
    code = DYING_SERVER.format(die=die)
    server = subprocess.Popen([sys.executable, "-c", code], env=os.environ | settings.environ())
    try:
        wait_until(place.exists)
        with pytest.raises(DbtError, match="dbt ended before its run did"):
            build(settings, publish=True, report=quiet)
    finally:
        server.terminate()
        server.wait(30)
    assert not _built(settings)
    place.unlink(missing_ok=True)
    place.symlink_to(ready)
    assert build(settings, report=quiet) is not None
    assert tables(settings.warehouse) == tables(undisturbed.warehouse)


def _python(settings: Settings, code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], env=command_env(settings), timeout=300).returncode
