"""A series for a response: empty histories, and values that are unknown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from serve.endpoints import all_endpoints
from serve.endpoints.history.series import series
from serve.queries.series_query import resolve_series
from serve.replica.edition import Reader
from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE, publish
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.series_calls import HOUR


@pytest.mark.requirement("series:empty")
def test_an_empty_history_is_empty_arrays(api: Api) -> None:
    got = api.series("price", base="BTC", start=1_000_000_000_000, end=1_000_003_600_000)
    assert (got["t"], got["v"]) == ([], [])
    assert api.series("price", base="XYZ:tsla", type="spot")["v"] == []
    assert (
        api.series("liquidations", base="BTC", venue="binance", start=1_000_000_000_000, end=1_000_003_600_000)["t"]
        == []
    )
    later = api.series("price", base="BTC", start=AS_OF_MS + DAY, range="1h")
    assert (later["t"], later["end"]) == ([], AS_OF_MS + DAY)


@pytest.mark.requirement("series:null")
def test_unknown_is_left_out_or_null(api: Api) -> None:
    """Market 3 has no price where (t // step + 3) % 41 == 0, and no row at all where t // step % 53 == 0."""
    start = AS_OF_MS - 50 * HOUR
    got = api.series("price", market="bybit:perp:BTCUSDT", start=start, end=AS_OF_MS, step="1h")
    missing = [
        t for t in range(start // HOUR * HOUR, AS_OF_MS, HOUR) if t // HOUR % 53 == 0 or (t // HOUR + 3) % 41 == 0
    ]
    assert missing
    assert not set(missing) & set(got["t"])
    assert None not in got["v"]


@pytest.mark.requirement("series:step:auto")
def test_auto_takes_the_step_that_has_the_range(tmp_path: Path) -> None:
    """Half an hour after the first start, a day of five minutes was fetched, and no minutes."""
    began = AS_OF_MS - 30 * MINUTE
    path = publish(tmp_path / "serving", 1, max_days=3)
    with duckdb.connect(str(path)) as con:
        con.execute(f"delete from series_base_1m where t < {began}; update edition set recorded_since_ms = {began}")
    with running(tmp_path / "serving", free_port()) as young:
        got = young.series("price", base="BTC")
        assert (got["step"], got["coarsened"]) == (5 * MINUTE, "1m has 2% of the range, 5m 98%")
        assert len(got["t"]) > 280
        assert got["start"] % (5 * MINUTE) == 0
        assert young.get("/api/series/price?base=BTC&format=csv").body.splitlines()[0].endswith(b"5m 98%)")
        for asked, step in (({"step": "1m"}, MINUTE), ({"range": "20m"}, MINUTE)):
            named = young.series("price", base="BTC", **asked)
            assert named["step"] == step
            assert "coarsened" not in named


class Heard:
    """A cursor that lists what it executes."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self.statements: list[str] = []

    def execute(self, sql: str, *args: Any) -> duckdb.DuckDBPyConnection:
        self.statements.append(sql)
        return self.cursor.execute(sql, *args)


@pytest.mark.requirement("series:step:auto")
def test_what_decides_the_step_is_what_is_served(reader: Reader) -> None:
    """Each step that is tried is read once, and the one that is taken not again."""
    young = replace(reader.edition, recorded_since_ms=AS_OF_MS - 30 * MINUTE, memo={})
    heard: Any = Heard(reader.cursor)
    [item] = [one for one in all_endpoints() if one.path == "/api/series/{metric}"]
    values = {name: param.default for name, param in item.params.items()} | {"metric": "price", "base": "BTC"}
    query = resolve_series(values, young, keyed=False)
    assert query.coarser
    series(query, Reader(young, heard))
    table = " from series_base_"
    read = [sql.partition(table)[2].split()[0] for sql in heard.statements if table in sql]
    assert read
    assert len(read) == len(set(read)), heard.statements
