"""Staged rows that are kept: a build of finished days has the same rows from them, reads them only while they are
right, and nothing is left of files that are gone."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.landing.landing import land
from ingest.landing.loads import committed_loads
from orchestration.config.settings import Settings
from orchestration.warehouse import compaction, staged, upgrade
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.staged import is_kept, keep_ahead, keep_staged, remove_kept
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import connection
from tests.support.pipeline.dbt_project import give_dbt, manifest
from tests.support.pipeline.equal_rows import differing, every_table
from tests.support.pipeline.landed import MINUTES, quiet, ready_to_build
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for
from tests.support.pipeline.recorder_minutes import recorder
from tests.support.pipeline.warehouse import STAMPS, give_built

LATER = "2999-01-01"
TICKERS = "stg_binance__perp_tickers"
# What a kept price is multiplied by, to see whether it was read.
MARKED = 7


def fresh_home(settings: Settings, home: Path) -> Settings:
    """A home of its own without rows, on the same landing."""
    other = replace(settings_for(home), landing=settings.landing)
    give_dbt(other)
    give_built(other)
    return other


def kept_file(settings: Settings, view: str = TICKERS) -> Path:
    """The Parquet file with the kept rows of a view."""
    [file] = Path(settings.landing, "staged").rglob(f"{view}.*.parquet")
    return file


def list_of(settings: Settings) -> Path:
    """The list of what is kept of the only compacted file."""
    [found] = Path(settings.landing, "staged").rglob("kept.json")
    return found


def mark_kept(settings: Settings) -> None:
    """Make the kept prices others than those of the bodies."""
    file = kept_file(settings)
    with duckdb.connect() as con:
        con.execute(f"create table marked as select * replace (last_price * {MARKED} as last_price) from '{file}'")
        con.execute(f"copy marked to '{file}' (format parquet)")


def marked_minutes(settings: Settings, home: Path) -> list[int]:
    """Which of the minutes a new build of the landing has with marked prices. Its first window, of two minutes, makes
    the views, and reads bodies."""
    other = settings_for(home) if home.exists() else fresh_home(settings, home)
    other = replace(other, landing=settings.landing)
    build(other, max_minutes=2, report=quiet)
    with connection(other.warehouse, read_only=True) as con:
        query = "select (minute_ms - ?) // 60000, max(price) > 1000 from int_market_minutes group by all order by 1"
        return [n for n, marked in con.execute(query, [T0]).fetchall() if marked]


@pytest.fixture(scope="module")
def template(landed: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Four minutes of one venue, built, and compacted with their staged rows."""
    settings = ready_to_build(landed, tmp_path_factory.mktemp("kept") / "home")
    build(settings, report=quiet)
    assert compact_landing(settings, LATER, report=quiet) == 1
    return settings


@pytest.fixture
def home(template: Settings, tmp_path: Path) -> Settings:
    return ready_to_build(template, tmp_path / "home")


async def test_kept_rows_give_the_tables_that_bodies_give(tmp_path: Path) -> None:
    """Five minutes of every venue, of which one was not recorded, one came late and one in two parts, and a compaction
    that was killed before it had kept anything."""
    first = settings_for(tmp_path / "first")
    give_dbt(first)
    give_built(first)

    async with recorder(universe="small") as (_, minute):
        rows = {n: await minute(T0 + n * MINUTE) for n in range(6)}
    for part in ([rows[0]], [rows[1][::2]], [rows[2]], [rows[5], rows[1][1::2]], [rows[4]]):
        land([row for some in part for row in some], first.landing, first.recorder / "dlt")
    await asyncio.to_thread(build, first, max_minutes=2, report=quiet)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "keep_staged", killed)
        with pytest.raises(KeyboardInterrupt):
            compact_landing(first, LATER, report=quiet)
    [load] = committed_loads(first.landing)
    assert not is_kept(load.files[0])
    assert compact_landing(first, LATER, report=quiet) == 0
    assert is_kept(load.files[0])

    second = fresh_home(first, tmp_path / "second")
    read: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestration.warehouse.transform.note_kept", counting(read))
        await asyncio.to_thread(build, second, max_minutes=2, report=quiet)
    # The views of a new warehouse are made by its first window.
    assert [views > 50 for views in read] == [False, True, True], read
    assert differing(second.warehouse, first.warehouse, {"*": STAMPS}, every_table) == {}


def counting(read: list[int]) -> Callable[..., None]:
    """`note_kept`, which also lists of how many views a window has kept rows."""

    def note(con: duckdb.DuckDBPyConnection, *rest: Any) -> None:
        staged.note_kept(con, *rest)
        read.append(con.execute("select count(distinct view) from pipeline.window_kept").fetchall()[0][0])

    return note


def test_a_build_reads_what_is_kept(home: Settings, tmp_path: Path) -> None:
    assert marked_minutes(home, tmp_path / "before") == []
    mark_kept(home)
    assert marked_minutes(home, tmp_path / "after") == [2, 3]


def test_an_upgrade_reads_what_is_kept(home: Settings) -> None:
    mark_kept(home)
    with connection(home.warehouse) as con:
        con.execute(
            "insert into pipeline.upgrade_days values (?, ?, ?, ?, ['int_market_minutes'], '', ?, null, null)",
            [T0, T0, T0, MINUTES[-1] + MINUTE, T0],
        )
    assert sum(done.minutes for done in upgrade.rebuild(home, report=quiet)) >= len(MINUTES)
    with connection(home.warehouse, read_only=True) as con:
        assert con.execute(
            "select distinct max(price) > 1000 from int_market_minutes group by minute_ms"
        ).fetchall() == [(True,)]


def test_rows_of_another_sql_are_not_read_and_are_kept_again(home: Settings, tmp_path: Path) -> None:
    mark_kept(home)
    list_ = list_of(home)
    kept = json.loads(list_.read_text())
    other = kept_file(home).with_name(f"{TICKERS}.0123456789abcdef.parquet")
    kept_file(home).rename(other)
    kept["views"][TICKERS] = ["0123456789abcdef", other.name]
    list_.write_text(json.dumps(kept))
    assert marked_minutes(home, tmp_path / "other") == []
    [load] = committed_loads(home.landing)
    assert keep_staged(home, load.files[0], report=quiet) == 1
    assert not other.exists()
    assert kept_file(home).exists()
    assert keep_staged(home, load.files[0], report=quiet) == 0


def test_processes_keep_what_is_missing_before_a_rebuild(home: Settings, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in Path(home.landing, "staged").rglob("*.parquet")}
    [load] = committed_loads(home.landing)
    assert keep_ahead(home, 2, report=quiet) == 0, "all of it is kept"
    assert remove_kept(home.landing, []) == 1
    left_over = home.home / "dbt" / "staged" / "999999999-left"
    left_over.mkdir(parents=True)
    said = list[str]()
    assert keep_ahead(home, 2, report=said.append) == 1
    day = load.files[0].split("/")[-2]
    assert said == [f"{day}: the rows of {len(json.loads(list_of(home).read_text())['views'])} views are kept"]
    assert is_kept(load.files[0])
    assert {file.name: file.read_bytes() for file in Path(home.landing, "staged").rglob("*.parquet")} == before
    assert not left_over.exists()
    mark_kept(home)
    assert marked_minutes(home, tmp_path / "after") == [2, 3]


def test_nothing_is_kept_ahead_of_the_first_build(tmp_path: Path) -> None:
    assert keep_ahead(settings_for(tmp_path), 2, report=quiet) == 0


def test_what_a_view_reads_is_part_of_its_hash(home: Settings) -> None:
    def hashes() -> dict[str, str]:
        with connection(home.warehouse) as con:
            recipe = staged._recipe(con, home)
        assert recipe is not None
        return {name: view.hash for name, view in recipe.views.items()}

    def changed(*statements: str) -> set[str]:
        before = hashes()
        with connection(home.warehouse) as con:
            for statement in statements:
                con.execute(statement)
        after = hashes()
        return {name for name in before if before[name] != after[name]}

    assert changed("select 1") == set()
    with connection(home.warehouse) as con:
        [(sql,)] = con.execute("select sql from duckdb_views() where view_name = 'stg_okx__index_tickers'").fetchall()
    other = sql.replace("CREATE VIEW", "CREATE OR REPLACE VIEW").rstrip(";") + " ORDER BY tick_ms"
    assert changed(other) == {"stg_okx__index_tickers", "stg_okx__marks"}
    assert changed("delete from collateral_tokens") == {"stg_hyperliquid__instruments"}
    compiled = home.dbt_target / staged.COMPILED
    compiled.write_text(compiled.read_text().replace("status is not null desc", "status is null"))
    assert changed("select 1") == set()
    compiled_before = hashes()
    compiled.write_text(compiled.read_text().replace("status is null", "status is not null desc"))
    assert not set(compiled_before.items()) & set(hashes().items())


def test_a_window_with_a_body_in_quarantine_is_read_from_bodies(home: Settings, tmp_path: Path) -> None:
    mark_kept(home)
    other = fresh_home(home, tmp_path / "other")
    with connection(other.warehouse) as con:
        con.execute(
            "insert into pipeline.quarantine by name select 'dropped' as state, 'binance' as venue, "
            f"'funding' as endpoint, '' as key, '{{}}' as params, {MINUTES[3]} as tick_ms"
        )
    assert marked_minutes(home, tmp_path / "other") == []


def test_a_late_load_beside_a_compacted_day_has_its_minutes_read_from_bodies(home: Settings, tmp_path: Path) -> None:
    mark_kept(home)
    land_minutes(home, [MINUTES[2]])
    assert marked_minutes(home, tmp_path / "late") == []
    build(home, report=quiet)
    assert compact_landing(home, LATER, report=quiet) == 1
    assert marked_minutes(home, tmp_path / "compacted") == [], "the day's rows are kept again"
    mark_kept(home)
    assert marked_minutes(home, tmp_path / "again") == [2, 3]


def test_kept_rows_go_with_their_file(home: Settings) -> None:
    before = kept_file(home).parent
    land_minutes(home, [MINUTES[-1] + MINUTE])
    build(home, report=quiet)
    assert compact_landing(home, LATER, report=quiet) == 1
    assert not before.exists()
    after = kept_file(home).parent
    assert after != before
    assert remove_kept(home.landing, [file for load in committed_loads(home.landing) for file in load.files]) == 0
    assert remove_kept(home.landing, []) == 1
    assert list(Path(home.landing, "staged").iterdir()) == []


def test_a_view_that_fails_is_not_kept_and_the_others_are(home: Settings) -> None:
    remove_kept(home.landing, [])
    with connection(home.warehouse) as con:
        columns = "tick_ms, endpoint, key, requested_ms, received_ms"
        con.execute(f"create or replace view {TICKERS} as select {columns}, error('no') as symbol from main.raw_window")
    [load] = committed_loads(home.landing)
    said: list[str] = []
    assert keep_staged(home, load.files[0], report=said.append) == len(views()) - 1
    assert [line.partition(":")[0] for line in said] == [f"the staged rows of {TICKERS} are not kept"]
    assert not list(Path(home.landing, "staged").rglob(f"{TICKERS}.*"))


def views() -> dict[str, list[str]]:
    """The staging views with their tags."""
    return {node.name: list(node.config.tags) for node in manifest().nodes.values() if node.name.startswith("stg_")}


async def test_a_view_s_rows_depend_on_no_other_minute_unless_it_says_so(tmp_path: Path) -> None:
    """Two minutes of every venue together, and each by itself."""
    settings = settings_for(tmp_path / "home")
    give_dbt(settings)
    give_built(settings)
    async with recorder(universe="small") as (_, minute):
        for n in range(2):
            land(await minute(T0 + n * MINUTE), settings.landing, settings.recorder / "dlt")
    await asyncio.to_thread(build, settings, report=quiet)
    with connection(settings.warehouse) as con:
        con.execute("create temp table two as from raw_window")
        assert con.execute("select count(distinct tick_ms) from two").fetchall() == [(2,)]
        rows: dict[str, list[Any]] = {}
        for where in ("true", f"tick_ms = {T0}", f"tick_ms = {T0 + MINUTE}"):
            con.execute("delete from raw_window")
            con.execute(f"insert into raw_window from two where {where}")
            for name in views():
                rows.setdefault(name, []).append(sorted(map(repr, con.execute(f"from {name}").fetchall())))
    apart = {name for name, (together, *each) in rows.items() if together != sorted(chain(*each))}
    assert apart <= {name for name, tags in views().items() if "across_minutes" in tags}
    assert sum(bool(together) for together, *_ in rows.values()) > 100
