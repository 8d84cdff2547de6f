"""Tables of a minute that are written into the next replica while the minute is built."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.publish.ahead import Ahead
from orchestration.publish.publish import publish
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.dbt_runner.process import PARSED, run_dbt
from orchestration.warehouse.served import read_served
from orchestration.warehouse.transform import windows_to_build
from orchestration.warehouse.writer import attach_unlogged
from tests.support.pipeline.dbt_server import wait_until
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, tables

NAMES = ("series_market_1m", "series_base_1m", "series_market_1h", "series_ratios_5m", "markets")


@contextmanager
def third_minute(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse as dbt's process has it when a third minute's models are built; its window is closed after it."""
    land_minutes(settings, [T0 + 2 * MINUTE])
    with warehouse_lock(settings, "build", report=quiet) as lock:
        for one in windows_to_build(settings, report=quiet):
            run_dbt(settings, one.arguments, lock=lock)
            with duckdb.connect() as con:
                attach_unlogged(con, settings.warehouse)
                yield con


def served(settings: Settings) -> list[str]:
    """Everything that a replica has, as dbt may build it."""
    return read_served(settings.dbt_target / PARSED[0]).names


def stored(settings: Settings, dbt: duckdb.DuckDBPyConnection) -> list[str]:
    """What of it are tables."""
    of_main = "duckdb_tables() where database_name = 'warehouse' and schema_name = 'main'"
    tables = {name for (name,) in dbt.execute(f"select table_name from {of_main}").fetchall()}
    return [name for name in served(settings) if name in tables]


def write_ahead(settings: Settings, dbt: duckdb.DuckDBPyConnection) -> Ahead:
    ahead = Ahead(settings)
    for name in ("raw_window", "touched_markets", *served(settings)):
        ahead.model_built(name, dbt)
    return ahead


def test_a_table_is_in_the_replica_before_the_window_is_closed(settings: Settings) -> None:
    """It has what this build touched, and the one before, whose edition is in the other replica. What is a view may
    show what is noted when the window is closed: the publish copies it."""
    with third_minute(settings) as dbt:
        ahead, expected = write_ahead(settings, dbt), stored(settings, dbt)
        wait_until(lambda: len(ahead.written) == len(expected))
        begun = ahead.begun()
        assert begun is not None
        assert list(begun.names) == expected
        assert {"series_market_1m", "series_ratios_5m", "markets", "gaps"} < set(expected) < set(served(settings))
        [minutes] = [one.whole for one in begun.touched if one.table.name == "series_market_1m"]
        assert minutes == {T0 + MINUTE, T0 + 2 * MINUTE}
        for name in expected:
            columns = ", ".join(column for column, *_ in dbt.execute(f"describe warehouse.{name}").fetchall())
            missing = f"select {columns} from warehouse.main.{name} except select {columns} from {name}"
            assert not begun.con.execute(f"select count(*) from ({missing})").fetchall()[0][0], name
        ahead.close()
        ahead.close()


def test_a_replica_that_a_reader_holds_is_left_to_the_publish(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    with third_minute(settings) as dbt, duckdb.connect(str(settings.serving / "replica_a.duckdb"), read_only=True):
        assert write_ahead(settings, dbt).begun() is None
    assert "the replica waits for the publish" in capsys.readouterr().out
    assert publish(settings, report=quiet) is not None


def test_what_was_written_ahead_of_an_edition_that_never_was_is_written_again(settings: Settings) -> None:
    """Rows that a build wrote before it failed, and that are not those of the build that succeeds."""
    with third_minute(settings) as dbt:
        of_minute = f"where t = {T0 + 2 * MINUTE}"
        dbt.execute(f"update series_market_1m set price = 1 {of_minute}")
        ahead = write_ahead(settings, dbt)
        wait_until(lambda: len(ahead.written) == len(stored(settings, dbt)))
        ahead.close()
        dbt.execute(f"update series_market_1m set price = 2 {of_minute}")
    edition = publish(settings, report=quiet)
    assert edition is not None
    replica = str(settings.serving / edition.replica)
    assert tables(replica, NAMES) == tables(settings.warehouse, NAMES)
    with duckdb.connect(replica, read_only=True) as con:
        assert con.execute(f"select distinct price from series_market_1m {of_minute}").fetchall() == [(2.0,)]
