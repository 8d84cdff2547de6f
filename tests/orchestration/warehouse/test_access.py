"""How a warehouse is opened and attached that is a file; a lake is in test_lake.py. MotherDuck cannot be reached: of it
the statements are compared."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.access import attach, exists, maintain, open_by_name, open_warehouse, warehouse_lock
from orchestration.warehouse.writer import WriterBusyError


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
