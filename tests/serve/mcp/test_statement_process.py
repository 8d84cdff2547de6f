"""The process that runs a statement: its limits, its configuration, and values as JSON has them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from serve.mcp import statement_process
from serve.mcp.statement_process import MOST_CHARS, open_replica, plain, run
from tests.support.replica.replica import build_replica

LIMITS = {"rows": 100, "bytes": 65_536, "memory": "256MB", "address_bytes": 3 << 29, "seconds": 10}


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("process") / "replica_a.duckdb"
    build_replica(path, 7, max_days=2)
    return path


def ask(replica: Path, statement: str, **limits: Any) -> subprocess.CompletedProcess[bytes]:
    """The process, asked as the server asks it."""
    request = orjson.dumps({**LIMITS, "replica": str(replica), "statement": statement, **limits})
    command = [sys.executable, "-I", statement_process.__file__]
    return subprocess.run(command, input=request, env={}, capture_output=True, check=False)


@pytest.mark.requirement("mcp:sql")
def test_it_imports_nothing_of_the_server_and_has_no_environment(replica: Path) -> None:
    """It is isolated from where it is started: an import of ours would fail."""
    done = ask(replica, "select edition_id, version() like 'v%' from edition")
    assert (done.returncode, done.stderr) == (0, b"")
    assert orjson.loads(done.stdout)["rows"] == [[7, True]]


@pytest.mark.requirement("mcp:sql:refused")
def test_the_system_ends_it_where_the_server_does_not(replica: Path) -> None:
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t"
    assert ask(replica, endless, seconds=0).returncode < 0
    # Memory that DuckDB does not count: the request of it fails, or the process ends.
    done = ask(replica, "select length(repeat('x', 2000000000))")
    assert done.returncode or orjson.loads(done.stdout).get("refused")


@pytest.mark.requirement("mcp:sql:refused")
def test_the_configuration_cannot_be_changed(replica: Path) -> None:
    con = open_replica(str(replica), "256MB")
    for text in (
        "set threads = 4", "set enable_external_access = true", "set memory_limit = '1TB'", "attach ':memory:' as m",
        "set temp_directory = '/tmp'", "set lock_configuration = false", "create table t (n int)", "load httpfs",
        "copy markets to 'x.csv'", "from read_csv('/etc/passwd')", "set python_enable_replacements = true",
    ):  # fmt: skip
        with pytest.raises(duckdb.Error):
            con.execute(text)
    assert con.execute("select current_setting('threads'), current_setting('temp_directory')").fetchall() == [(1, "")]
    mine = [1, 2, 3]
    with pytest.raises(duckdb.CatalogException):
        con.execute("from mine")
    assert mine
    con.close()


@pytest.mark.requirement("mcp:sql")
def test_a_query_stands_inside_another_one(replica: Path) -> None:

    def rows(statement: str) -> Any:
        return run({**LIMITS, "replica": str(replica), "statement": statement, "rows": 3}).get("rows")

    assert rows("select 1 as a, 2 as a;") == [[1, 2]]
    assert rows("select 5 -- five") == [[5]]
    assert rows("with x as (select 4 as n) from x union all select 9 order by 1 desc") == [[9], [4]]
    assert len(rows("show tables")) == 3
    assert rows("from range(9) order by range desc") == [[8], [7], [6]]


@pytest.mark.requirement("mcp:sql")
def test_values_are_what_json_holds() -> None:
    with duckdb.connect() as con:
        row = con.execute(
            "select 'nan'::double, 'inf'::double, 9007199254740993, 1::hugeint << 100, 'a'::blob, date '2026-06-15', "
            "1.10::decimal(9, 2), {'n': [1, null]}, map {1: true}, repeat('x', 5000), null, true, interval 90 minute"
        ).fetchone()
    assert row
    values = [plain(value) for value in row]
    assert values[:9] == [
        None, None, "9007199254740993", str(1 << 100), "61", "2026-06-15", "1.10", {"n": [1, None]}, {"1": True},
    ]  # fmt: skip
    assert (len(values[9]), values[10:12], values[12]) == (MOST_CHARS + 1, [None, True], "1:30:00")
    assert orjson.loads(orjson.dumps(values)) == values
