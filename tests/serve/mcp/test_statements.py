"""Statements in processes of their own: one at a time, ended at their limit."""

import asyncio
from pathlib import Path

import pytest

from serve.contract.errors import BadParameter
from serve.mcp.statements import Statements
from tests.support.replica.replica import build_replica

ENDLESS = "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t"


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("statements") / "replica_a.duckdb"
    build_replica(path, 7, max_days=2)
    return path


@pytest.mark.requirement("mcp:sql")
async def test_a_statement_is_answered_after_one_that_is_stopped(replica: Path) -> None:
    statements = Statements()
    stopped = asyncio.create_task(statements.run(ENDLESS, replica, 10, seconds=1))
    await asyncio.sleep(0)
    found = await statements.run("select 7 as n", replica, 10)
    # The turns are taken in order: the other one had ended.
    assert stopped.done()
    with pytest.raises(BadParameter, match="longer than"):
        await stopped
    assert found == {"columns": [{"name": "n", "type": "INTEGER"}], "rows": [[7]], "truncated": None}


@pytest.mark.requirement("mcp:sql:refused")
async def test_one_that_nobody_awaits_any_more_ends(replica: Path) -> None:
    statements = Statements()
    left = asyncio.create_task(statements.run(ENDLESS, replica, 10))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    assert (await statements.run("select 1", replica, 10))["rows"] == [[1]]


@pytest.mark.requirement("mcp:sql:refused")
async def test_a_long_reason_is_cut(replica: Path) -> None:
    with pytest.raises(BadParameter) as refused:
        await Statements().run("select " + "x" * 5000, replica, 10)
    assert len(refused.value.message) < 1000
