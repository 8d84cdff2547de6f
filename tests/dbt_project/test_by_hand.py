"""dbt by hand: the real command in a clone of the project, on a copy of the warehouse, as a dbt user runs it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestration.warehouse.transform import build
from tests.support.pipeline.dbt_project import PROJECT, give_dbt, manifest
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for
from tests.support.pipeline.warehouse import give_built

BUILT_IN = ("table", "view", "incremental", "ephemeral", "seed", "test", "unit", "snapshot", "clone", "function")
Rows = dict[str, list[tuple[Any, ...]]]


# The `dbt` command's own main, in a process that has imported dbt: each command is a fork of it, as in a new shell.
READY = """
import json, os, sys
from dbt.cli.main import cli
for line in sys.stdin:
    words, output = json.loads(line)
    if (child := os.fork()) == 0:
        for stream in (1, 2):
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        sys.argv = ["dbt", *words]
        cli()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Clone:
    """A clone of the project beside a copy of a warehouse, and dbt in its folder with nothing set."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "clone" / "dbt_project"
        self.warehouse = folder / "clone" / "data" / "warehouse.duckdb"
        shutil.copytree(PROJECT, self.project, ignore=shutil.ignore_patterns("target", "logs", "__pycache__"))
        self.warehouse.parent.mkdir()
        self._ready = subprocess.Popen(
            [sys.executable, "-c", READY],
            cwd=self.project,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.project.parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def dbt(self, *words: str, fails: bool = False) -> str:
        """What dbt prints."""
        assert self._ready.stdin
        assert self._ready.stdout
        output = self.project.parent / "output"
        output.unlink(missing_ok=True)
        self._ready.stdin.write(json.dumps([words, str(output)]) + "\n")
        self._ready.stdin.flush()
        code = self._ready.stdout.readline()
        said = output.read_text()
        assert (int(code) != 0) == fails, said
        assert "Traceback" not in said
        return said

    def end(self) -> None:
        """Nothing is left running."""
        self._ready.communicate(timeout=60)

    def rows(self) -> Rows:
        """Every row of every table in an order of its own, without what dbt notes of its own runs."""
        with duckdb.connect(str(self.warehouse), read_only=True) as con:
            found = con.execute("select schema_name, table_name from duckdb_tables() order by all").fetchall()
            noted = {("pipeline", "settings"), ("pipeline", "test_results")}
            names = [f'{schema}."{table}"' for schema, table in found if (schema, table) not in noted]
            return {name: con.execute(f"from {name} order by all").fetchall() for name in names}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A clone beside the copy of a warehouse that two windows made, the last of them as the product leaves it."""
    home, clone = tmp_path_factory.mktemp("home"), Clone(tmp_path_factory.mktemp("hand"))
    settings = settings_for(home)
    give_dbt(settings)
    give_built(settings)
    for minutes in ((*range(4), 60), (61,)):
        land_minutes(settings, [T0 + minute * MINUTE for minute in minutes])
        assert build(settings) is not None
    for file in home.glob("warehouse.duckdb*"):  # what the last window wrote may be in the log beside the file
        shutil.copyfile(file, clone.warehouse.with_name(file.name))
    yield clone
    clone.end()


def recomputed() -> set[str]:
    """The statistics that are computed once in a while, and by hand in every window: other values, but as many rows."""
    models = ((node.name, node.config.get("triggers") or ()) for node in manifest().nodes.values())
    return {f'main."{name}"' for name, triggers in models if any(one.startswith("every_") for one in triggers)}


def test_a_missing_window_is_one_clear_message(clone: Clone) -> None:
    said = clone.dbt("run", "--select", "series_base_1m+", fails=True)
    assert "No window is open" in said
    assert "minutes from 2026-03-04 00:00 to 2026-03-04 01:01 UTC" in said
    assert "dbt run-operation open_window" in said
    assert "first is 'soon', but it must be a UTC time such as" in clone.dbt(
        "run-operation", "open_window", "--args", "{first: soon}", fails=True
    )


def test_docs_tests_and_seeds_need_no_window(clone: Clone) -> None:
    clone.dbt("seed")
    clone.dbt("test", "--select", "series_base_1m")
    with duckdb.connect(str(clone.warehouse), read_only=True) as con:
        tested = con.execute("select test, status, failures, tested_ms > 0 from pipeline.test_results").fetchall()
    assert {row[1:] for row in tested} == {("pass", 0, True)}
    of_model = {node for node in manifest().child_map["model.tidemark.series_base_1m"] if "test." in node}
    assert {row[0] for row in tested} == {manifest().expect(node).name for node in of_model}
    clone.dbt("docs", "generate")  # compiles every model
    assert (clone.project / "target" / "catalog.json").stat().st_size > 100_000


def test_no_command_of_dbt_loses_recorded_history(clone: Clone) -> None:
    before = clone.rows()
    assert len(before['main."series_market_1m"']) > len(before['main."int_touched_minutes"']) > 0
    clone.dbt("run-operation", "open_window")
    said = clone.dbt("run", "--select", "int_market_minutes", fails=True)
    assert "The open window is not built in" in said
    assert "raw_window" in said
    window = ('main."raw_window"', 'main."touched_markets"', 'main."int_touched_minutes"')
    tables = ("--exclude", "config.materialized:view_in_place")
    untested = ("--exclude-resource-type", "unit_test", "--exclude-resource-type", "test")  # they change nothing
    for words in (("build", "--full-refresh", *untested), ("run", "--empty", *tables)):
        clone.dbt(*words)
        after = clone.rows()
        assert after.keys() == before.keys()
        lost = [
            name
            for name, rows in before.items()
            if (len(after[name]) < len(rows) if name in recomputed() else after[name] != rows)
            and name not in window
            and not name.startswith(('main."staged_', "pipeline."))
        ]
        assert not lost, (words, lost)
    clone.dbt("run", "--select", "series_market_5m+")
    assert clone.rows() == after


def test_small_windows_are_built_with_settings_of_their_own(clone: Clone) -> None:
    """That of an hour's first minute has DuckDB's own; one with backfilled rows has all of its optimizers."""
    minute, hour = (T0 + MINUTE, False), (T0, False)
    small, planned_short = "set max_vacuum_tasks = 0", "set disabled_optimizers"
    for window, expected in (
        ([minute], (True, True)),
        ([minute, (T0 + 2 * MINUTE, True)], (True, False)),
        ([hour], (False, False)),
    ):
        with duckdb.connect(str(clone.warehouse)) as con:
            con.execute("delete from pipeline.window_minutes")
            for one in window:
                con.execute("insert into pipeline.window_minutes (tick_ms, backfilled_only) values (?, ?)", one)
        said = clone.dbt("compile", "--inline", "{{ tuned_for_window() }}")
        assert (small in said, planned_short in said) == expected, window


def test_a_new_warehouse_gets_its_tables(clone: Clone) -> None:
    for file in clone.warehouse.parent.glob("warehouse.duckdb*"):
        file.unlink()
    said = clone.dbt("run", "--select", "raw_window", "stg_fx__fx_rates")
    assert "Nothing has been built in this warehouse yet" in said
    assert clone.rows()['main."raw_window"'] == []
    with duckdb.connect(str(clone.warehouse)) as con:
        for source in manifest().sources.values():
            if source.source_name in ("pipeline", "quality"):
                made = con.execute(f"describe {source.source_name}.{source.name}").fetchall()
                declared = [(column.name, (column.data_type or "").upper()) for column in source.columns.values()]
                assert [row[:2] for row in made] == declared, source.name
    assert "no minute to build again" in clone.dbt("run-operation", "open_window", fails=True)


def test_no_materialization_or_strategy_of_ours_has_the_name_of_a_built_in() -> None:
    ours = [macro.name for macro in manifest().macros.values() if macro.package_name == "tidemark"]
    built_in = {macro.name for macro in manifest().macros.values() if macro.package_name != "tidemark"}
    named = [name for name in ours if name.startswith(("materialization_", "get_incremental_"))]
    assert len(named) > 5
    assert not built_in.intersection(named)
    assert not [
        name for name in named if name.split("_")[1] in BUILT_IN and name.split("_")[2] in ("default", "duckdb")
    ]


def test_a_setting_of_a_model_is_true_or_not_written() -> None:
    """The materialization `windowed` knows neither a changing schema nor a key: only its strategy's own settings."""
    for node in manifest().nodes.values():
        if node.config.materialized == "windowed":
            assert node.config["full_refresh"] is False, node.name
            written = {"unique_key", "on_schema_change"} & node.unrendered_config.keys()
            assert not written, (node.name, written)
