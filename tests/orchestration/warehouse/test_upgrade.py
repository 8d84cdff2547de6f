"""A warehouse of another version: the first release's home is brought up to date beside its minutes, what changed is
known, and a later version's warehouse is refused."""

import base64
import json
import shutil
import tarfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse import upgrade
from orchestration.warehouse.dbt_runner.process import fingerprint
from orchestration.warehouse.transform import build
from orchestration.warehouse.upgrade import Rebuilt, adapt, check_version, days_left, plan_days, rebuild, this_version
from orchestration.warehouse.writer import PipelineError, connection, note_settings
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.equal_rows import differing
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, run, settings_for, start
from tests.support.pipeline.warehouse import STAMPS, give_built

RELEASE = Path(__file__).parents[2] / "support" / "pipeline" / "releases" / "0.1.0.tar.xz"
DAY = 86_400_000
# The release's last minute is T0 + 3 minutes.
NEXT = T0 + 10 * MINUTE
COMPARED = (
    "int_market_minutes", "int_market_bars", "int_ratios", "series_market_1m", "series_market_5m", "series_market_15m",
    "series_market_1h", "series_market_4h", "series_market_1d", "series_base_1m", "series_base_5m", "series_base_1h",
    "series_base_1d", "series_ratios_5m", "series_ratios_1h", "gaps", "markets", "expected_markets",
)  # fmt: skip


def first_release(home: Path) -> Settings:
    """The home that the first release left, under the current tree."""
    with tarfile.open(RELEASE) as archive:
        archive.extractall(home, filter="data")
    settings = settings_for(home)
    give_dbt(settings)
    return settings


def candles(settings: Settings) -> list[tuple[int, int, int]]:
    """Of each served minute of the release the rows with a price, and those with a candle, which it did not know. (The
    bars of its last minute were never asked for.)"""
    current = json.loads((settings.serving / "current.json").read_text())
    with duckdb.connect(str(settings.serving / current["replica"]), read_only=True) as con:
        query = (
            "select t, count(price), count(open) from series_market_1m where t between ? and ? group by t order by t"
        )
        return con.execute(query, [T0 - 4 * MINUTE, T0 + 2 * MINUTE]).fetchall()


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def left(settings: Settings) -> list[tuple[int, int, int, str | None]]:
    with connection(settings.warehouse) as con:
        query = "select day_ms, next_ms, end_ms, error from pipeline.upgrade_days where finished_ms is null order by 1"
        return con.execute(query).fetchall()


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, list[str]]:
    """The first release's home after its first minute under the current tree, and what was reported."""
    settings = first_release(tmp_path_factory.mktemp("release") / "home")
    said: list[str] = []
    land_minutes(settings, (NEXT,))
    build(settings, report=said.append)
    publish(settings, report=quiet)
    return settings, said


@pytest.fixture
def home(upgraded: tuple[Settings, list[str]], tmp_path: Path) -> Settings:
    """A copy of it."""
    shutil.copytree(upgraded[0].home, tmp_path / "home", symlinks=True)
    return settings_for(tmp_path / "home")


def test_the_first_releases_home_goes_on_and_is_built_again_day_by_day(
    upgraded: tuple[Settings, list[str]], home: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a kill in the middle of a window, after dbt and before the window is closed, one between two windows of a
    day, and a minute that is recorded meanwhile."""
    said = upgraded[1]
    assert "series_market_1m has the new columns candle_n, close, high, low, open: unknown until" in "\n".join(said)
    assert any("models have changed: 2 days are to be built again, the newest first" in line for line in said)
    before = candles(home)
    # Its minutes are served as they were built.
    assert [(t, known > 0, new) for t, known, new in before] == [(T0 + n * MINUTE, True, 0) for n in range(-4, 3)]
    assert [day for day, *_ in left(home)] == [T0 - DAY, T0]

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "close_window", killed)
        with pytest.raises(KeyboardInterrupt):
            list(rebuild(home, report=quiet))
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "FIRST_GUESS_S", upgrade.WITHOUT_PACE_S / 2)
        first = next(rebuild(home, report=quiet))
    assert (first.day_ms, first.left) == (T0, 2)
    assert left(home)[-1][:3] == (T0, T0 + 2 * MINUTE, T0 + 4 * MINUTE)
    steps = rebuild(home, report=quiet)
    assert next(steps).left == 1
    # A minute between two windows: it is built, and what is built again is served with it.
    land_minutes(home, (NEXT + MINUTE,))
    build(home, report=quiet)
    publish(home, report=quiet)
    # The first minute's responses have the two bars before it.
    assert [new > 0 for _, _, new in candles(home)] == [n >= -2 for n in range(-4, 3)]
    assert [day for day, *_ in left(home)] == [T0 - DAY]

    assert [(done.day_ms, done.left) for done in steps] == [(T0 - DAY, 0)]
    publish(home, report=quiet)
    assert all(new > 0 for _, _, new in candles(home))
    assert [known for _, known, _ in candles(home)] == [known for _, known, _ in before]
    assert left(home) == []

    incremental = tmp_path / "incremental.duckdb"
    shutil.copyfile(home.warehouse, incremental)
    build(home, rebuild=True, report=quiet)
    assert differing(home.warehouse, str(incremental), {"*": {*STAMPS, "tick_ms"}}, COMPARED.__contains__) == {}
    with connection(home.warehouse) as con:
        assert {*COMPARED} <= {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
        assert days_left(con) == 0


def test_a_day_whose_files_are_missing_is_named_and_the_others_are_built(home: Settings) -> None:
    with connection(home.warehouse) as con:
        query = "select min_tick_ms // 86400000, file from pipeline.loads where file is not null"
        files = con.execute(query).fetchall()
    newest = [file for day, file in files if day == T0 // DAY]
    for file in newest:
        (Path(home.landing) / "responses" / Path(file).parent.name / Path(file).name).unlink()
    said: list[str] = []
    assert [done.day_ms for done in rebuild(home, report=said.append)] == [T0, T0 - DAY]
    [(day, _, _, error)] = left(home)
    assert (day, "is missing or cannot be read" in (error or "")) == (T0, True)
    assert any(line.startswith("2026-03-04 UTC is not built again: ") for line in said), said
    assert list(rebuild(home, report=quiet)) == [], "until the project changes again"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with one minute that the current tree has built."""
    settings = settings_for(tmp_path_factory.mktemp("upgrade") / "home")
    give_dbt(settings)
    give_built(settings)
    land_minutes(settings, (T0,))
    build(settings, report=quiet)
    return settings


@pytest.fixture
def copy(own: Settings, tmp_path: Path) -> Settings:
    """A copy of it as it is now."""
    shutil.copytree(own.home, tmp_path / "home", symlinks=True)
    return settings_for(tmp_path / "home")


def plan(settings: Settings, *models: str) -> None:
    """Plan these models of the only day, after a minute's build with the project as it is."""
    with connection(settings.warehouse) as con:
        con.execute("update pipeline.settings set value = ? where name = 'project'", [fingerprint()])
        con.execute("delete from pipeline.upgrade_days")
        con.execute(
            f"insert into pipeline.upgrade_days values (?, ?, ?, ?, {list(models)}, '', ?, null, null)",
            [T0, T0, T0, T0 + MINUTE, T0],
        )


def rows(settings: Settings, table: str) -> list[tuple[Any, ...]]:
    """All rows of a table, without when they were known."""
    with connection(settings.warehouse) as con:
        return con.execute(f"select columns(c -> c not in {STAMPS}) from {table} order by all").fetchall()


def change(settings: Settings, alter: Callable[[dict[str, Any]], None]) -> None:
    """Make the manifest that built the warehouse one that differs from the project's."""
    with connection(settings.warehouse) as con:
        [(stored,)] = con.execute("select manifest from pipeline.built_by").fetchall()
        manifest = json.loads(zlib.decompress(stored))
        alter(manifest)
        text = base64.b64encode(zlib.compress(json.dumps(manifest).encode())).decode()
        con.execute(f"update pipeline.built_by set project = 'other', manifest = from_base64('{text}')")
        con.execute("update pipeline.settings set value = 'other' where name = 'project'")
        con.execute("delete from pipeline.upgrade_days")


def planned(settings: Settings) -> set[str]:
    """The models that the project plans to build again in this warehouse."""
    with connection(settings.warehouse) as con:
        adapt(con, settings, fingerprint(), quiet)
        rows = con.execute("select distinct unnest(models) from pipeline.upgrade_days").fetchall()
    return {name for (name,) in rows}


def test_what_has_changed_is_what_dbt_says_and_all_that_reads_it(own: Settings) -> None:
    def sql(manifest: dict[str, Any]) -> None:
        manifest["nodes"]["model.tidemark.series_depth_5m"]["raw_code"] = "select 1"

    change(own, sql)
    assert planned(own) == {"series_depth_5m", "series_depth_1h"}


def test_a_changed_seed_concerns_what_is_computed_from_it_and_a_description_nothing(own: Settings) -> None:
    def seed(manifest: dict[str, Any]) -> None:
        manifest["nodes"]["seed.tidemark.symbols"]["checksum"]["checksum"] = "0" * 64

    def description(manifest: dict[str, Any]) -> None:
        for node in manifest["nodes"].values():
            node["description"] = "Something else."

    change(own, seed)
    found = planned(own)
    assert {"int_listed_markets", "int_market_minutes", "series_base_1d"} <= found
    assert "int_stream_minutes" not in found
    change(own, description)
    assert planned(own) == set()


def test_a_model_that_is_gone_loses_its_table_and_one_that_is_new_is_built(own: Settings) -> None:
    def renamed(manifest: dict[str, Any]) -> None:
        node = manifest["nodes"].pop("model.tidemark.series_depth_5m")
        manifest["nodes"]["model.tidemark.former_depth"] = node | {
            "name": "former_depth", "alias": "former_depth", "unique_id": "model.tidemark.former_depth",
        }  # fmt: skip

    change(own, renamed)
    with connection(own.warehouse) as con:
        con.execute("create table former_depth as from series_depth_5m")
    assert "series_depth_5m" in planned(own)
    with connection(own.warehouse) as con:
        named = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
    assert "former_depth" not in named


def test_a_second_change_takes_over_what_the_first_has_left(own: Settings) -> None:
    def of(model: str) -> Callable[[dict[str, Any]], None]:
        def alter(manifest: dict[str, Any]) -> None:
            manifest["nodes"][f"model.tidemark.{model}"]["raw_code"] = "select 1"

        return alter

    change(own, of("series_depth_1h"))
    planned(own)
    with connection(own.warehouse) as con:
        waiting = con.execute("from pipeline.upgrade_days").fetchall()
    change(own, of("series_ratios_1d"))
    with connection(own.warehouse) as con:
        con.executemany("insert into pipeline.upgrade_days values (?, ?, ?, ?, ?, ?, ?, ?, ?)", waiting)
    assert planned(own) == {"series_depth_1h", "series_ratios_1d", "fear_greed"}
    with connection(own.warehouse) as con:
        assert days_left(con) == 1


def test_types_are_converted_and_columns_that_are_gone_are_dropped(own: Settings) -> None:
    with connection(own.warehouse) as con:
        con.execute("alter table int_market_minutes add column former integer")
        con.execute("alter table series_market_1m alter column funding_n set data type varchar")
        count = "select count(*), sum(funding_n::bigint) from series_market_1m where t = ?"
        before = con.execute(count, [T0]).fetchall()
        con.execute("update pipeline.built_by set project = 'other'")
        said: list[str] = []
        adapt(con, own, fingerprint(), said.append)
    assert "int_market_minutes has other columns: former dropped, none converted" in said
    assert "series_market_1m has other columns: none dropped, funding_n converted" in said
    with connection(own.warehouse) as con:
        assert con.execute(count, [T0]).fetchall() == before
        assert con.execute("select distinct typeof(funding_n) from series_market_1m").fetchall() == [("INTEGER",)]


def test_what_reads_only_facts_is_built_again_without_the_landing(copy: Settings) -> None:
    before = rows(copy, "series_market_1h")
    with connection(copy.warehouse) as con:
        con.execute("update series_market_1h set oi_usd = -1, price = null")
    shutil.rmtree(copy.landing)
    plan(copy, "series_market_1h")
    [done] = rebuild(copy, report=quiet)
    assert (done.minutes, left(copy)) == (1, [])
    assert rows(copy, "series_market_1h") == before


def test_days_that_a_person_names_are_built_again(copy: Settings) -> None:
    """All models of the day, beside what another day has left; a day that is not built is named."""
    tables = ("int_market_minutes", "series_market_1m", "series_market_1h", "series_base_1d")
    before = {table: rows(copy, table) for table in tables}
    with connection(copy.warehouse) as con:
        con.execute("update int_market_minutes set price = -1; update series_market_1m set price = null")
        con.execute("insert into pipeline.upgrade_days values (?, 0, 0, 0, ['x'], '', 1, 1, null)", [T0 - 9 * DAY])
    assert plan_days(copy, T0 - DAY, T0 + 2 * DAY, quiet) == 1
    assert [done.minutes for done in rebuild(copy, report=quiet)] == [1]
    assert {table: rows(copy, table) for table in tables} == before
    with connection(copy.warehouse) as con:
        assert con.execute("select day_ms from pipeline.upgrade_days order by 1").fetchall() == [(T0 - 9 * DAY,), (T0,)]
    with pytest.raises(
        PipelineError, match=r"no day from 2026-03-05 UTC to 2026-03-06 UTC is built: 2026-03-04 UTC to"
    ):
        plan_days(copy, T0 + DAY, T0 + 3 * DAY, quiet)


def test_days_are_a_command(copy: Settings) -> None:
    said_by_it = run(copy, "rebuild", "--days", "2026-03-04", "--workers", "2")
    assert "1 days are built again" in said_by_it
    assert "2026-03-04 UTC: 1 minutes" in said_by_it
    assert "the days are replaced: edition 1" in said_by_it
    refused = start(copy, "rebuild", "--days", "tomorrow")
    assert "'tomorrow' are no days" in refused.communicate(timeout=300)[0].decode()
    assert refused.returncode == 2


def test_a_staging_view_is_read_from_the_landing_and_rows_that_it_no_longer_has_go(copy: Settings) -> None:
    before = rows(copy, "int_market_bars")
    with connection(copy.warehouse) as con:
        con.execute("delete from int_market_bars where symbol = 'BTCUSDT'")
        con.execute("insert into int_market_bars by name select * replace ('GONE' as market_id) from int_market_bars")
    plan(copy, "int_market_bars")
    list(rebuild(copy, report=quiet))
    assert rows(copy, "int_market_bars") == before


def test_the_finer_tiers_of_a_trimmed_day_are_made_again_for_the_coarser(copy: Settings) -> None:
    before = rows(copy, "series_market_1h")
    with connection(copy.warehouse) as con:
        for table in ("series_market_1m", "series_market_5m", "series_market_15m", "int_market_minutes"):
            con.execute(f"delete from {table}")
        note_settings(con, {"trimmed_before_ms": str(T0 + DAY)})
    plan(copy, "series_market_1h")
    list(rebuild(copy, report=quiet))
    assert rows(copy, "series_market_1h") == before


def test_the_warehouse_of_a_later_version_is_refused_and_can_be_made_again(own: Settings) -> None:
    with connection(own.warehouse) as con:
        note_settings(con, {"version": "99.1.0"})
        con.execute("update pipeline.built_by set project = 'of that version'")
    land_minutes(own, (T0 + MINUTE,))
    refused = r"built by version 99\.1\.0, and this is .*install 99\.1\.0 or later"
    with pytest.raises(PipelineError, match=refused):
        build(own, report=quiet)
    with pytest.raises(PipelineError, match=refused):
        list(rebuild(own, report=quiet))
    rebuilt = build(own, rebuild=True, report=quiet)
    assert rebuilt is not None
    with connection(own.warehouse, read_only=True) as con:
        [(version,)] = con.execute("select value from pipeline.settings where name = 'version'").fetchall()
    assert version == this_version()


@pytest.mark.parametrize(("theirs", "refused"), [("", False), ("0.1.0", False), ("0.2.0", False), ("0.10.0", True)])
def test_versions_are_compared_by_their_numbers(theirs: str, refused: bool) -> None:
    assert this_version() == "0.2.0"
    if refused:
        with pytest.raises(PipelineError):
            check_version({"version": theirs})
    else:
        check_version({"version": theirs})


def test_windows_fill_the_rest_of_a_minute_and_wait_for_the_next_where_little_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Beside a recorder: the clock and the windows are ours."""
    clock, asked = [T0 + 3_000], list[tuple[int, int]]()

    def window(_: Settings, most: int, *__: object) -> Rebuilt | None:
        asked.append((clock[0] // 1000 % 60, most))
        clock[0] += 500 * most
        return Rebuilt(T0, most, most / 2, 1) if len(asked) < 4 else None

    def sleep(seconds: float) -> None:
        clock[0] += round(seconds * 1000)

    monkeypatch.setattr(upgrade, "now_ms", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(upgrade, "_rebuild_window", window)
    assert len(list(rebuild(settings_for(tmp_path), paced=True, report=quiet))) == 3
    # From second 8 on: 52 s at 4 s a minute; what is left at half a second each; then the next minute's.
    assert asked == [(8, 13), (14, 90), (8, 104), (8, 104)]
