"""The indices of the whole market: what there is without any day, and how a day becomes one."""

import duckdb
import pytest

from serve.queries.figures.indices import fear_greed_of, read_altcoin_season, read_fear_greed
from serve.replica.edition import Reader, open_edition
from tests.support.replica.replica import AS_OF_MS, DAY, build_replica


@pytest.mark.requirement("altcoin:shape")
def test_without_a_completed_day_there_is_no_season(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("young") / "replica_a.duckdb"
    build_replica(path, 1, max_days=2)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from altcoin_season")
        con.execute("delete from fear_greed where t < (select max(t) from fear_greed)")
    edition = open_edition(path)
    young = Reader(edition, edition.connection.cursor())
    assert read_altcoin_season(young) is None
    found = read_fear_greed(young)
    assert (found["days"], found["today"]["date"], found["today"]["provisional"]) == ([], "2026-06-15", True)
    edition.connection.close()


@pytest.mark.requirement("fear-greed:today")
def test_a_day_of_which_nothing_is_known_is_null_and_provisional() -> None:
    found = fear_greed_of(None, [], AS_OF_MS)
    assert found["today"] == {"date": "2026-06-15", "value": None, "provisional": True}
    row = {"t": AS_OF_MS // DAY * DAY - DAY, "value": 25, "exact": 25.4, "label": "Fear", "final": True}
    row |= {f"{name}_percentile": None for name in ("funding", "oi", "ls")} | {"liq_percentile": 25.4}
    [day] = fear_greed_of(None, [row], AS_OF_MS)["days"]
    assert (day["date"], day["value"], day["provisional"]) == ("2026-06-14", 25, False)
    assert day["components"] == {"funding": None, "oi": None, "ls": None, "liq": 25.4}
