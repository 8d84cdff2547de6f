"""sql_query: rows of a query on the newest edition, the tables and columns that there are, and what is refused."""

import concurrent.futures
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.support.replica.replica import AS_OF_MS, MARKETS, publish
from tests.support.servers.api_server import free_port, running, until
from tests.support.servers.mcp_calls import TOOLS, Mcp, refused, warned


@pytest.mark.requirement("mcp:sql")
def test_a_query_has_its_rows(sql: Mcp) -> None:
    query = "from markets select base, oi_usd, len(perps) as perps order by oi_usd desc"
    got = sql.call("sql_query", {"statement": query})
    oi = {base: sum(1e7 * (i + 1) for i, row in enumerate(MARKETS) if row[3] == base and row[1] == "perp")
          for base in {row[3] for row in MARKETS}}  # fmt: skip
    assert [row[:2] for row in got["data"]["rows"]] == [
        [base, value] for base, value in sorted(oi.items(), key=lambda item: -item[1])
    ]
    assert got["data"]["columns"] == [
        {"name": "base", "type": "VARCHAR"}, {"name": "oi_usd", "type": "DOUBLE"}, {"name": "perps", "type": "BIGINT"},
    ]  # fmt: skip
    assert (got["status"], got["provenance"]["source"], got["as_of"]) == ("ok", "e1842", AS_OF_MS)
    for text in ("describe markets", "show tables;", "summarize edition", "values (1), (2) -- two", "table edition"):
        assert sql.call("sql_query", {"statement": text})["data"]["rows"], text


@pytest.mark.requirement("mcp:sql")
def test_rows_beyond_the_limits_are_cut_and_reported(sql: Mcp) -> None:
    got = sql.call("sql_query", {"statement": "from range(1000000)", "limit": 7})
    assert (len(got["data"]["rows"]), warned(got)[:1]) == (7, ["truncated"])
    wide = sql.call("sql_query", {"statement": "select repeat('x', 1500) from range(1000)", "limit": 1000})
    assert (30 < len(wide["data"]["rows"]) < 50, warned(wide)[:1]) == (True, ["truncated"])
    exact = sql.call("sql_query", {"statement": "from range(7)", "limit": 7})
    assert (len(exact["data"]["rows"]), "truncated" in warned(exact)) == (7, False)
    assert sql.wrong("sql_query", {"statement": "from range(7)", "limit": 1001})["data"]["argument"] == "limit"


@pytest.mark.requirement("mcp:sql")
def test_the_tables_and_their_columns_are_described(sql: Mcp) -> None:
    listed = {one["name"]: one for one in sql.call("sql_query")["data"]["tables"]}
    assert {"markets", "series_base_1h", "series_venue_1d", "gaps", "spikes"} <= set(listed)
    assert not any(name.startswith(("methodology_", "known_")) for name in listed)
    assert listed["markets"]["description"] == "One row per coin"
    found = sql.call("sql_query", {"table": "markets"})["data"]
    columns = {one["name"]: one for one in found["columns"]}
    assert columns["oi_usd"] == {"name": "oi_usd", "type": "DOUBLE", "description": "Open interest, USD."}
    assert (len(columns), columns["cat"]["description"]) == (listed["markets"]["columns"], None)
    assert found["tables"][0]["description"] == "One row per coin. Its markets are in it."
    error = sql.wrong("sql_query", {"table": "market"})
    assert (error["data"]["argument"], error["data"]["nearest"]) == ("table", "markets")
    assert sql.wrong("sql_query", {"table": "markets", "statement": "from markets"})["data"]["argument"] == "table"


# What is refused, and words of the reason.
HOSTILE = {
    "attach '/tmp/other.duckdb'": "ATTACH, and only queries",
    "copy markets to '/tmp/markets.csv'": "COPY, and only queries",
    "install httpfs": "LOAD, and only queries",
    "set memory_limit = '64GB'": "SET, and only queries",
    "pragma threads = 64": "SET, and only queries",
    "reset lock_configuration": "SET, and only queries",
    "export database '/tmp/all'": "EXPORT, and only queries",
    "checkpoint": "CALL, and only queries",
    "drop table markets": "DROP, and only queries",
    "delete from markets returning *": "DELETE, and only queries",
    "explain analyze delete from markets": "EXPLAIN, and only queries",
    "create temp table mine as select 1": "CREATE, and only queries",
    "select 1; drop table markets": "more than one statement (SELECT, DROP)",
    "pivot markets on base using sum(oi_usd)": "more than one statement",
    "from read_csv('/etc/passwd')": "only the tables of the edition",
    "from read_text('/etc/passwd')": "only the tables of the edition",
    "from glob('/*')": "only the tables of the edition",
    "from 'https://example.org/rows.parquet'": "only the tables of the edition",
    "from duckdb_secrets()": "only the tables of the edition",
    "select (select count(*) from read_csv_auto('/proc/self/environ'))": "only the tables of the edition",
    "with gone as (delete from markets returning *) from gone": "DuckDB cannot read it",
    "from force_checkpoint()": "DuckDB refuses it",
    "select getenv('HOME')": "getenv does not exist",
    "from request": "Table with name request does not exist",
    "select list(range) from range(1000000000)": "256MB of memory",
    "select 1)": "DuckDB cannot read it",
    "select nothing from markets": "DuckDB refuses it",
    " ;; ": "it is empty",
}


@pytest.mark.requirement("mcp:sql:refused")
@pytest.mark.parametrize("statement", HOSTILE)
def test_what_is_refused_gets_a_reason(sql: Mcp, statement: str) -> None:
    error = sql.wrong("sql_query", {"statement": statement})
    assert error["data"]["argument"] == "statement"
    assert HOSTILE[statement] in error["message"]


@pytest.mark.requirement("mcp:sql:refused")
def test_a_statement_that_never_ends_is_stopped_and_the_api_answers_meanwhile(sql: Mcp) -> None:
    endless = "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running_one = pool.submit(sql.wrong, "sql_query", {"statement": endless})
        answered = 0
        while not running_one.done():
            assert sql.api.get("/api/series/oi?base=BTC").status == 200
            answered += 1
        assert "longer than 10 s" in running_one.result()["message"]
        assert answered > 3
    assert sql.call("sql_query", {"statement": "select 1"})["data"]["rows"] == [[1]]


@pytest.mark.requirement("mcp:sql")
def test_it_is_off_unless_it_is_set_and_small_where_it_is(mcp: Mcp, sql: Mcp) -> None:
    error = mcp.wrong("sql_query", {"statement": "select 1"})
    assert (error["data"]["argument"], "TIDEMARK_MCP_SQL" in error["message"]) == ("name", True)
    answer = sql.ask("tools/list")
    names = [tool["name"] for tool in answer.json["result"]["tools"]]
    assert [name for name in names if name != "sql_query"] == TOOLS
    assert "sql_query" in names
    assert len(answer.body) < 36_000
    for tool in answer.json["result"]["tools"]:
        Draft202012Validator.check_schema(tool["outputSchema"])


@pytest.mark.requirement("mcp:sql")
def test_the_next_edition_is_written_beside_statements(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    publish(serving, 1, max_days=2)

    def edition(asked: Mcp) -> Any:
        return asked.call("sql_query", {"statement": "select edition_id from edition"})["data"]["rows"][0][0]

    with running(serving, free_port(), sql=True) as api:
        served = Mcp(api)
        assert edition(served) == 1
        for number in (2, 3):
            publish(serving, number, max_days=2)
            until(lambda: edition(served), lambda found, number=number: found == number)  # type: ignore[misc]
    with duckdb.connect(str(serving / "replica_b.duckdb")) as con:
        assert con.execute("select edition_id from edition").fetchall() == [(3,)]


@pytest.mark.requirement("mcp:sql", "mcp:unavailable")
def test_without_an_edition_it_is_unavailable(tmp_path: Path) -> None:
    with running(tmp_path / "serving", free_port(), sql=True) as api:
        assert Mcp(api).call("sql_query", {"statement": "select 1"})["status"] == "unavailable"
        refused(Mcp(api).ask("tools/call", {"name": "sql_query", "arguments": {"limit": 0}}), 200, -32602, 7)
