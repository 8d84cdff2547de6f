"""`tidemark doctor --warehouse`: whether the warehouse does what builds and publishes need of it.

Each step is tried in a schema of its own, which is removed at the end; nothing else is changed. It is meant for a
warehouse that is not on this machine: a lake, or a MotherDuck database, which nobody has run yet.
"""

import time
from collections.abc import Callable, Iterator

import duckdb

from orchestration.config.places import is_lake
from orchestration.config.settings import Settings
from orchestration.supervise.doctor import FAILURE, OK, Finding
from orchestration.warehouse import lake
from orchestration.warehouse.access import attach, exists, newest_closed, open_warehouse, warehouse_lock
from orchestration.warehouse.writer import TABLES_SQL, PipelineError, WriterBusyError

SCHEMA = "tidemark_proof"
LOCK_WAIT_S = 30.0
TABLE = f"""
create schema {SCHEMA};
create table {SCHEMA}.rows (
    t bigint not null, name varchar, value double, levels double[][], minutes bigint[], key uinteger, content blob);
insert into {SCHEMA}.rows values (1, 'a', 0.5, [[1.0, 2.0]], [1, 2], 7, 'x'::blob), (2, 'b', null, null, [], null, null)
"""
MERGE = f"""
merge into {SCHEMA}.rows using (values ('b', 2.5), ('c', 3.5)) as noted(name, value) using (name)
when matched then update set value = noted.value
when not matched then insert (t, name, value) values (3, noted.name, noted.value)
"""
WINDOW = f"""
begin;
create temporary table window_rows as select t, name, value * 10 as value from {SCHEMA}.rows where t >= 2;
delete from {SCHEMA}.rows where t >= 2;
insert into {SCHEMA}.rows (t, name, value) select t, name, value from window_rows;
drop table window_rows;
commit
"""
UNDONE = f"begin; delete from {SCHEMA}.rows; rollback"
VIEW = f"create view {SCHEMA}.seen as select t, value from {SCHEMA}.rows; comment on view {SCHEMA}.seen is 'A view.'"
WANTED = [(1, "a", 0.5), (2, "b", 25.0), (3, "c", 35.0)]


def warehouse_findings(settings: Settings) -> Iterator[Finding]:
    """A finding for each step until one fails."""
    if not exists(settings.warehouse):
        yield Finding("warehouse", OK, f"{settings.warehouse} is a file that the first build makes")
        return
    steps: list[tuple[str, Callable[[], str]]] = [
        ("one writer", lambda: _one_writer(settings)),
        ("tables", lambda: _written(settings)),
        ("as read", lambda: _read(settings)),
    ]
    for about, step in steps:
        began = time.monotonic()
        try:
            text = step()
        except (duckdb.Error, PipelineError) as error:
            yield Finding(about, FAILURE, str(error).strip().splitlines()[0])
            return
        yield Finding(about, OK, f"{text}, {time.monotonic() - began:.1f} s")


def _one_writer(settings: Settings) -> str:
    with warehouse_lock(settings, "doctor", wait_s=LOCK_WAIT_S, report=_quiet):
        try:
            with warehouse_lock(settings, "doctor", wait_s=0, report=_quiet):
                pass
        except WriterBusyError:
            return "a second writer is refused"
    raise PipelineError("two processes could write at once")


def _written(settings: Settings) -> str:
    with (
        warehouse_lock(settings, "doctor", wait_s=LOCK_WAIT_S, report=_quiet),
        open_warehouse(settings, checkpoint=False) as con,
    ):
        con.execute(f"drop schema if exists {SCHEMA} cascade")
        try:
            for statements in (TABLE, MERGE, WINDOW, UNDONE, VIEW):
                con.execute(statements)
            found = con.execute(f"select t, name, value from {SCHEMA}.rows order by t").fetchall()
            seen = con.execute(f"select count(*), sum(value) from {SCHEMA}.seen").fetchall()
            if found != WANTED or seen != [(3, 60.5)]:
                raise PipelineError(f"rows were written and read back as {found} and {seen}")
        finally:
            con.execute(f"drop schema if exists {SCHEMA} cascade")
    return "types, merge, a window's replacement, rollback, temporary tables and views work"


def _read(settings: Settings) -> str:
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as con:
        closed = newest_closed(settings.warehouse)
        if is_lake(settings.warehouse) and closed is None:
            return "no window is closed yet, so there is nothing to publish"
        attach(con, settings.warehouse, closed)
        con.execute(f"use {lake.NAME}")
        [(tables,)] = con.execute(f"select count(*) from {TABLES_SQL}").fetchall()
    return f"a publish finds {tables} tables"


def _quiet(_: str) -> None:
    """No progress lines."""
