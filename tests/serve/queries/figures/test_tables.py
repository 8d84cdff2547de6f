"""The tables of an edition with their descriptions, also of one that has none."""

from pathlib import Path

import duckdb
import pytest

from serve.queries.figures.tables import read_columns, read_tables
from serve.replica.edition import Reader, open_edition
from tests.support.replica.replica import build_replica


@pytest.mark.requirement("mcp:sql")
def test_every_table_is_listed_with_its_columns(reader: Reader) -> None:
    listed = {one["name"]: one for one in read_tables(reader)}
    for name in ("series_market_1m", "series_venue_1h", "markets"):
        assert listed[name]["columns"] == len(read_columns(reader, name))
    assert listed["series_base_1h"]["description"] == "What series_base_1h has."
    assert read_columns(reader, "edition")[0] == {"name": "edition_id", "type": "BIGINT", "description": None}


@pytest.mark.requirement("mcp:sql")
def test_a_replica_of_an_earlier_version_has_no_descriptions(tmp_path: Path) -> None:
    path = tmp_path / "replica_a.duckdb"
    build_replica(path, 1, max_days=2)
    with duckdb.connect(str(path)) as con:
        con.execute("drop table methodology_columns")
    edition = open_edition(path)
    assert {one["description"] for one in read_columns(Reader(edition, edition.connection.cursor()), "markets")} == {
        None
    }
    edition.connection.close()
