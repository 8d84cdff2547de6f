"""What the warehouse forgets: fine tables beyond what is served, counted in recorded days, slice by slice."""

import os
import time

import pytest

from orchestration.config.clock import DAY_MS
from orchestration.config.settings import Settings
from orchestration.warehouse import trim
from orchestration.warehouse.trim import trim_warehouse
from orchestration.warehouse.writer import connection, writer_lock
from tests.support.pipeline.dbt_project import served as project_serves
from tests.support.pipeline.pipeline_home import T0, note_days


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


def test_minutes_of_files_that_nothing_lists_are_removed_a_day_later(settings: Settings) -> None:
    for name, age_s in (("listed", 9e5), ("old", 9e4), ("new", 8e4)):
        (made := settings.minutes / f"file={name}").mkdir(parents=True)
        (made / "minutes_0.parquet").touch()
        os.utime(made, (time.time() - age_s,) * 2)
    note_days(settings.warehouse, T0)
    assert trim_warehouse(settings, T0) == 0, "a warehouse of an earlier version has no list"
    with connection(settings.warehouse) as con:
        con.execute("create table minute_files as select 'listed' as file")
    assert trim_warehouse(settings, T0) == 0
    assert sorted(found.name for found in settings.minutes.iterdir()) == ["file=listed", "file=new"]


@pytest.mark.parametrize("recorded", [False, True], ids=["nothing recorded", "minutes recorded"])
def test_a_clock_far_ahead_trims_nothing_that_is_served(settings: Settings, recorded: bool) -> None:
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
