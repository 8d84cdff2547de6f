"""How a window is closed that dbt's own process closes: what that process is given, and what it says."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse
from orchestration.warehouse.closing import MOST_MINUTES, Closing, close, closed_by_dbt, note_closed
from orchestration.warehouse.transform import build
from orchestration.warehouse.watermark import open_window
from orchestration.warehouse.windows import next_window
from tests.support.pipeline.landed import MINUTES, quiet, ready_to_build
from tests.support.pipeline.pipeline_home import land_minutes, tables


def closing_of(settings: Settings) -> Closing:
    """The window that waits, opened."""
    with open_warehouse(settings) as con:
        window = next_window(con, settings.landing)
        assert window is not None
        open_window(con, window)
    return Closing(window, {"project": "one", "seeds": "two"}, publish=True, run_started_ms=3.0)


def test_a_window_of_few_minutes_is_described_in_a_variable(settings: Settings) -> None:
    with open_warehouse(settings) as con:
        con.execute("delete from pipeline.loads")
    closing = closing_of(settings)
    text = closing.as_variable(settings)
    assert Closing.from_variable(text).as_variable(settings) == text
    assert Closing.from_variable(text).window.minutes == tuple(MINUTES)
    many = tuple(range(MOST_MINUTES + 1))
    for other in (
        replace(closing, window=replace(closing.window, minutes=many)),
        replace(closing, window=replace(closing.window, past_minutes=(1,))),
        replace(closing, window=replace(closing.window, files=("x" * 100,) * 1000)),
    ):
        assert other.as_variable(settings) == ""
    assert closing.as_variable(replace(settings, warehouse="md:warehouse")) == ""


def test_the_process_that_opened_a_window_learns_how_it_was_closed(settings: Settings) -> None:
    with open_warehouse(settings) as con:
        con.execute("delete from pipeline.loads")
        con.execute("create table int_touched_minutes as select 60000 as minute_ms")
        columns = "'1m' as step, 60000 as minute_ms, 'm' as market_id, 'BTC' as base"
        con.execute(f"create table touched_markets as select {columns}")
    closing = closing_of(settings)
    assert closed_by_dbt(settings, closing) is None
    closed = close(settings, closing)
    assert (closed.build.minutes, closed.build.touched_minutes, closed.more) == (tuple(MINUTES), (60_000,), False)
    published = replace(closed, edition={"edition_id": 4}, timeline={"minute": 1.0})
    note_closed(settings, closing, published)
    assert closed_by_dbt(settings, closing) == published
    assert closed_by_dbt(settings, replace(closing, token="another")) is None, "another window's"


def test_a_minute_is_closed_by_dbt_and_others_by_who_opened_them(landed: Settings, tmp_path: Path) -> None:
    """With the same rows, and nothing but the file is left."""
    together, apart = (ready_to_build(landed, tmp_path / name) for name in ("together", "apart"))
    (apart.dbt_target.parent / "dbt.sock").unlink()
    closed = []
    for settings in (together, apart):
        built = build(settings, max_minutes=2, report=quiet)
        assert built is not None
        assert (built.minutes, built.more, [made.build_id for made in built.builds]) == (4, False, [1, 2])
        assert not Path(f"{settings.warehouse}.wal").exists() or settings is apart
        closed.append((settings.dbt_target.parent / "closed.json").exists())
    assert closed == [True, False]
    assert tables(together.warehouse) == tables(apart.warehouse)
    for settings in (together, apart):
        land_minutes(settings, [MINUTES[-1] + 60_000])
        assert build(settings, report=quiet) is not None
    assert tables(together.warehouse) == tables(apart.warehouse)


def test_a_window_that_fails_when_it_is_closed_is_built_again(landed: Settings, tmp_path: Path) -> None:
    settings = ready_to_build(landed, tmp_path)
    note = settings.dbt_target.parent / "closed.new"
    note.mkdir()  # so that it cannot be written
    with pytest.raises(Exception, match="IsADirectoryError"):
        build(settings, report=quiet)
    note.rmdir()
    assert build(settings, report=quiet) is None, "it was closed before it was said"
    with duckdb.connect(settings.warehouse, read_only=True) as con:
        assert con.execute("select count(*) from pipeline.builds").fetchall() == [(1,)]
        assert con.execute("select count(*) from pipeline.window_minutes").fetchall() == [(0,)]
