"""An edition: its coins in any spelling, conditions for coins, and reading by arrays, rows and single values."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.replica.edition import Reader, literal, open_edition
from tests.support.replica.replica import AS_OF_MS, LEVERAGED, MARKETS
from tests.support.replica.replica_server import EDITION


@pytest.mark.requirement("series:base:case")
def test_an_edition_knows_its_markets_and_coins(reader: Reader) -> None:
    edition = reader.edition
    assert (edition.edition_id, edition.as_of_ms) == (EDITION, AS_OF_MS)
    assert set(edition.markets) == {":".join(market[:3]) for market in MARKETS} | {LEVERAGED}
    assert [edition.base(asked) for asked in ("btc", "BTC", "XYZ:tsla", "xyz:TSLA", "BTC3L@gate", "NOPE", "")] == [
        "BTC", "BTC", "xyz:TSLA", "xyz:TSLA", None, None, None,
    ]  # fmt: skip
    assert edition.day_step == "1d"


@pytest.mark.requirement("series:values")
@pytest.mark.parametrize("bases", [["BTC"], ["BTC", "ETH"], ["NOPE"], ["BTC", "it's"]])
def test_a_condition_for_coins_finds_their_rows_in_every_table(reader: Reader, bases: list[str]) -> None:
    for table in ("series_base_1d", "series_market_1d", "market_index"):
        where = reader.edition.of_bases(bases, table)
        found = reader.value(f"select count(*) from {table} where {where}")
        assert found == reader.value(
            f"select count(*) from {table} where list_contains($bases, base)", {"bases": bases}
        )


@pytest.mark.requirement("series:values")
def test_results_come_as_columns_as_rows_and_once(reader: Reader) -> None:
    sql = "select * from (values (1::bigint, 1.5), (2, null)) as t(n, v) order by n"
    columns = reader.arrays(sql)
    assert columns["n"].tolist() == [1, 2]
    assert columns["v"][0] == 1.5
    assert np.isnan(columns["v"][1])
    assert reader.rows(sql) == [{"n": 1, "v": 1.5}, {"n": 2, "v": None}]
    assert reader.table(sql).to_pylist() == reader.rows(sql)
    assert reader.value("select 1 where false") is None
    computed = [reader.once("a key of this test", lambda: object()) for _ in range(2)]
    assert computed[0] is computed[1]


@pytest.mark.requirement("http:bad-input")
@settings(deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_literal_is_the_text_that_it_writes(text: str) -> None:
    with duckdb.connect(config={"threads": 1}) as con:
        assert con.execute(f"select {literal(text)}").fetchone() == (text,)


@pytest.mark.requirement("edition:recovers")
def test_a_file_without_an_edition_is_refused_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "replica.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create table edition (edition_id bigint, as_of_ms bigint, published_ms bigint, "
                    "recorded_since_ms bigint)")  # fmt: skip
    with pytest.raises(ValueError, match="table edition is empty"):
        open_edition(path)
    duckdb.connect(str(path)).close()
