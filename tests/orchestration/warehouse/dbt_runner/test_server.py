"""The dbt server: its runs have the same results as dbt, hold the same lock, and end with their caller."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.adapters.duckdb.credentials import DuckDBCredentials
from dbt.clients.jinja import MacroGenerator
from dbt_common.clients.jinja import template_cache

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import DbtError, place_hash, run_dbt, start_dbt
from orchestration.warehouse.writer import writer_lock
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.dbt_server import holders, runs, wait_until, zombies


def test_a_forked_dbt_run_has_the_same_output_as_dbt(settings: Settings, server: subprocess.Popen[bytes]) -> None:
    """Output, failures and their words; the server goes on after a failure."""
    listed = start_dbt(settings, ["ls", "--resource-type", "seed", "--output", "name"])
    output, _ = listed.communicate()
    assert listed.returncode == 0
    assert b"symbols" in output
    assert b"venues" in output
    with pytest.raises(DbtError, match="no_such_command"):
        run_dbt(settings, ["no_such_command"])
    run_dbt(settings, ["seed", "--select", "quotes"])
    assert Path(settings.warehouse).stat().st_size > 0
    assert not Path(f"{settings.warehouse}.wal").exists(), "the warehouse was closed"
    assert server.poll() is None
    wait_until(lambda: not runs(server))
    wait_until(lambda: not zombies(server))


def test_a_run_holds_the_lock_and_ends_with_its_caller(settings: Settings, server: subprocess.Popen[bytes]) -> None:
    lock_file = settings.home / "writer.lock"
    with writer_lock(settings.home, "test") as lock:
        # A run that waits for us: its output is not read, so that it cannot end.
        caller = start_dbt(settings, ["ls", "--output", "json"], lock=lock)
        wait_until(lambda: bool(runs(server)))
        (run,) = runs(server)
        os.kill(run, signal.SIGSTOP)
    assert holders(lock_file), "the run inherits the writer's lock"
    caller.kill()
    os.kill(run, signal.SIGCONT)
    caller.communicate()
    wait_until(lambda: not holders(lock_file))
    wait_until(lambda: run not in runs(server))


def test_a_run_whose_reader_was_killed_ends(settings: Settings, server: subprocess.Popen[bytes]) -> None:
    with writer_lock(settings.home, "test") as lock:
        caller = start_dbt(settings, ["seed"], lock=lock)
        assert caller.stdout
        # From then on it speaks from a thread.
        while b"START seed" not in caller.stdout.readline():
            assert caller.poll() is None
        caller.stdout.close()
    caller.wait(60)
    wait_until(lambda: not holders(settings.home / "writer.lock"))
    wait_until(lambda: not runs(server))


# What follows is of the parts of dbt that no document of dbt promises: an upgrade that changes one fails here first.


def test_a_run_takes_macros_from_the_cache_that_the_server_fills() -> None:
    macro: Any = SimpleNamespace(macro_sql="{% macro one() %}1{% endmacro %}", name="one")
    compiled = template_cache.get_node_template(macro)
    assert MacroGenerator(macro).get_template() is compiled


def test_a_run_finds_the_modules_of_a_build_imported() -> None:
    code = (
        "import sys, dbt.cli.main; from orchestration.warehouse.dbt_runner.server import _import_ahead\n"
        "_import_ahead()\n"
        "before = {*sys.modules}; import dbt.task.build, multiprocessing.dummy, multiprocessing.pool\n"
        "from orchestration.warehouse.dbt_runner import warehouse_access; print(*{*sys.modules} - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_closed_connection_manager_releases_the_warehouse(tmp_path: Path) -> None:
    path = str(tmp_path / "warehouse.duckdb")
    place: Any = DuckDBCredentials.from_dict({"path": path, "schema": "main", "database": "warehouse"})
    DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    connection: Any = SimpleNamespace(state="init", credentials=place, handle=None)
    DuckDBConnectionManager.open(connection)
    with pytest.raises(duckdb.ConnectionException, match="different configuration"):
        duckdb.connect(path, read_only=True)
    connection.handle = None
    DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    duckdb.connect(path, read_only=True).close()


def test_a_parsed_project_names_the_warehouse_by_this_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is replaced in a copy; if dbt made it otherwise, it would read the project again there."""
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    settings = Settings.from_env()
    give_parsed(settings)
    assert place_hash(settings.warehouse).encode() in (settings.dbt_target / "partial_parse.msgpack").read_bytes()
