"""How a warehouse is opened and attached that is a file; a lake is in test_lake.py. MotherDuck cannot be reached: of it
the statements are compared."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.access import (
    attach,
    detach,
    exists,
    has_its_name,
    holding,
    maintain,
    open_by_name,
    open_replica,
    open_warehouse,
    warehouse_lock,
)
from orchestration.warehouse.writer import WriterBusyError, attach_unlogged, connection


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.from_env({"TIDEMARK_HOME": str(tmp_path)})


def test_a_file_is_written_by_one_and_attached_to_be_read(settings: Settings) -> None:
    assert not exists(settings.warehouse)
    with warehouse_lock(settings, "build"), open_warehouse(settings) as con:
        con.execute("create table numbers as select 7 as number")
    assert exists(settings.warehouse)
    with duckdb.connect() as con:
        attach(con, settings.warehouse)
        assert con.execute("from warehouse.main.numbers").fetchall() == [(7,)]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("delete from warehouse.main.numbers")
    with open_by_name(settings.warehouse, read_only=True) as con, pytest.raises(duckdb.InvalidInputException):
        con.execute("delete from numbers")
    assert maintain(settings) == ""


def test_the_lock_of_a_home_is_held_by_one(settings: Settings) -> None:
    with (
        warehouse_lock(settings, "build"),
        pytest.raises(WriterBusyError, match="build"),
        warehouse_lock(settings, "trim", wait_s=0.1, report=lambda _: None),
    ):
        pass


def test_what_this_process_has_open_is_read_before_it_is_in_the_file(settings: Settings, tmp_path: Path) -> None:
    """And a replica is written beside it, with settings of its own."""
    replica = tmp_path / "replica_a.duckdb"
    with open_warehouse(settings) as con:
        con.execute("create table numbers as select 7 as number")
    with open_replica(replica, {"threads": 1}, logged=True, wait_s=1) as con:
        con.execute("create table numbers (number int)")
    with duckdb.connect(config={"threads": 2}) as own:
        attach_unlogged(own, settings.warehouse)
        own.execute("insert into numbers values (8)")
        with holding(own):
            with open_warehouse(settings, read_only=True) as con:
                assert con.execute("from numbers order by 1").fetchall() == [(7,), (8,)]
            with open_replica(replica, {}, logged=False, wait_s=1) as con:
                con.execute("set threads = 1")
                con.execute("set disabled_compression_methods = 'fsst'")
                attach(con, settings.warehouse)
                con.execute("insert into numbers from warehouse.main.numbers")
                detach(con)
                con.execute("checkpoint")
        found = own.execute("select current_setting('threads'), current_setting('disabled_compression_methods')")
        assert found.fetchall() == [(2, "")]
        with connection(str(replica), read_only=True) as con:
            assert con.execute("from numbers order by 1").fetchall() == [(7,), (8,)], "it is given back"
    with open_replica(replica, {"threads": 1}, logged=False, wait_s=1) as con:
        attach(con, settings.warehouse)
        assert con.execute("select count(*) from warehouse.main.numbers").fetchall() == [(2,)]
        detach(con)


@pytest.mark.parametrize(
    ("warehouse", "has"), [("/a/warehouse.duckdb", True), ("/a/other.duckdb", False), ("md:warehouse", False)]
)
def test_a_publish_reads_a_database_by_its_name(warehouse: str, has: bool) -> None:
    assert has_its_name(warehouse) is has


class Statements:
    """In place of a connection to MotherDuck's service: what would be executed."""

    def __init__(self) -> None:
        self.executed: list[str] = []

    def execute(self, statement: str) -> "Statements":
        self.executed.append(statement)
        return self


def test_a_database_of_ones_own_in_motherduck_is_attached_by_name_and_not_read_only() -> None:
    service: Any = Statements()
    attach(service, "md:tide'mark")
    assert service.executed == ["attach 'md:tide''mark' as warehouse"]
    assert exists("md:tidemark")
