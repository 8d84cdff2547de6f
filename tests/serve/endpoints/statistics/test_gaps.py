"""GET /api/gaps, against the replica's gaps, which are written by hand."""

from pathlib import Path

import duckdb
import pytest

from serve.endpoints.statistics.gaps import MAX_ROWS
from tests.support.replica.replica import AS_OF_MS, DAY, GAPS, LAST, MINUTE, publish
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.described import as_described

PATH = "/api/gaps"


def listed(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in ("start", "end", "venue", "endpoint", "reason")) for row in rows]


@pytest.mark.requirement("gaps:rows")
def test_every_period_of_the_range_is_listed(api: Api) -> None:
    got = as_described(api, PATH)
    assert (got["start"], got["end"], got["next"]) == (AS_OF_MS - DAY, AS_OF_MS, None)
    assert sorted(listed(got["rows"]), key=str) == sorted(GAPS, key=str)
    assert [row["start"] for row in got["rows"]] == sorted(gap[0] for gap in GAPS)


@pytest.mark.requirement("gaps:rows")
def test_periods_are_cut_at_the_range_and_chosen_by_exchange(api: Api) -> None:
    start, end = LAST - 295 * MINUTE, LAST - 95 * MINUTE
    got = as_described(api, PATH, f"{PATH}?start={start}&end={end}&venue=binance")
    assert listed(got["rows"]) == [
        (start, LAST - 290 * MINUTE, "binance", "perp_tickers", "venue_unreachable"),
        (start, LAST - 285 * MINUTE, "binance", "spot_tickers", "venue_error"),
        (LAST - 285 * MINUTE, LAST - 280 * MINUTE, "binance", "spot_tickers", "venue_error"),
        (LAST - 100 * MINUTE, end, None, None, "recorder_down"),
    ]
    assert as_described(api, PATH, f"{PATH}?start={LAST - 500 * MINUTE}&range=10m")["rows"] == []


@pytest.mark.requirement("gaps:range")
def test_a_range_has_at_most_31_days(api: Api) -> None:
    assert api.get(f"{PATH}?range=31d").status == 200
    answer = api.get(f"{PATH}?range=32d")
    assert (answer.status, answer.error) == (400, "range: 32d is too long; at most 31d")
    assert "start: needs end or range" in api.get(f"{PATH}?start={LAST}").error
    assert "venue" in api.get(f"{PATH}?venue=nope").error


@pytest.mark.requirement("gaps:pages")
def test_many_periods_come_in_several_answers_each_once(tmp_path: Path) -> None:
    """Of 90 kinds each second minute of four hours is one: 10,800, in groups that begin together."""
    with duckdb.connect(str(publish(tmp_path, 1, max_days=1))) as con:
        con.execute("delete from gaps")
        con.execute(
            f"insert into gaps select {LAST} - 2 * m * {MINUTE}, {LAST} - (2 * m - 1) * {MINUTE}, 'okx', 'kind' || k, "
            "'partial' from range(1, 121) as minutes(m) cross join range(90) as kinds(k)"
        )
    with running(tmp_path, free_port()) as api:
        first = as_described(api, PATH)
        assert first["next"] is not None
        assert 0 < len(first["rows"]) <= MAX_ROWS
        rest = as_described(api, PATH, f"{PATH}?start={first['next']}&end={first['end']}")
        assert rest["next"] is None
        rows = listed([*first["rows"], *rest["rows"]])
        assert (len(rows), len(set(rows))) == (10_800, 10_800)
