"""Coverage of a series: a young installation, a catch-up, a delisted market and a venue's outage, counted by hand."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from orchestration.publish.replica import BASE_KEY
from tests.support.replica.replica import AS_OF_MS, MINUTE, publish
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.series_calls import HOUR

NOW = AS_OF_MS // HOUR * HOUR  # 12:00, an hour that has lasted 34 minutes
SINCE = NOW - 2 * HOUR + 42 * MINUTE
A, B, C = (f"{venue}:perp:ETHUSDT" for venue in ("binance", "bybit", "gate"))
FIVE = NOW + 30 * MINUTE
# Hours: of 8:00 and 9:00 history had one venue, then two; recording began at 10:42; at 11:00 B was out of reach; at
# 12:30 it was delisted. Five minutes before the recording: what the first requests for bars reached back to.
STATES = {(NOW - 4 * HOUR, A): 10.0, (NOW - 3 * HOUR, A): 10.0, (NOW - 3 * HOUR, B): 8.0, (NOW - 2 * HOUR, A): 10.0,
          (NOW - 2 * HOUR, B): 8.0, (NOW - 2 * HOUR, C): 4.0, (NOW - HOUR, A): 10.0, (NOW - HOUR, C): 4.0,
          (NOW, A): 10.0, (NOW, B): 8.0, (NOW, C): 4.0}  # fmt: skip
EARLY = SINCE // (5 * MINUTE) * 5 * MINUTE - 10 * MINUTE
BARS = {(EARLY, A): 5, (EARLY, B): 2, (EARLY + 5 * MINUTE, A): 5, (EARLY + 5 * MINUTE, B): 5,
        (FIVE - 5 * MINUTE, A): 5, (FIVE - 5 * MINUTE, B): 5, (FIVE - 5 * MINUTE, C): 4,
        (FIVE, A): 4, (FIVE, C): 3}  # fmt: skip
GAP = (NOW - HOUR + 5 * MINUTE, NOW - HOUR + 20 * MINUTE, "bybit", "perp_tickers", "venue_unreachable")


@pytest.fixture(scope="module")
def young(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    serving = tmp_path_factory.mktemp("young") / "serving"
    with duckdb.connect(str(publish(serving, 1, max_days=1))) as con:
        con.execute("delete from gaps")
        con.execute("insert into gaps values (?, ?, ?, ?, ?)", GAP)
        con.execute(f"update edition set recorded_since_ms = {SINCE}")
        con.execute(f"""insert into market_index by name select '{C}' as market_id, 'gate' as venue, 'perp' as type,
            'ETH' as base, {NOW} as last_ms""")
        con.execute("delete from expected_markets")
        families = ["price", "volume", "oi", "funding"]
        con.executemany(
            "insert into expected_markets select ?, ?, 'perp', 'ETH', ?, ?, ?",
            [(A, "binance", families, 0, None), (B, "bybit", families, 0, FIVE), (C, "gate", families, 0, None)],
        )
        for step, column, minutes, rows in (("1h", "oi_usd", 0, STATES), ("5m", "volume_usd", None, BARS)):
            for family in ("market", "base"):
                con.execute(f"delete from series_{family}_{step} where base = 'ETH'")
            con.execute(f"update series_market_{step} set base = 'BTC' where base <> 'BTC'")
            con.executemany(
                f"insert into series_market_{step} (t, market_id, venue, type, base, base_key, aggregated, {column},"
                f" volume_n, liq_n, source) select ?, ?, ?, 'perp', 'ETH', {BASE_KEY}, true, ?, ?, 0, ?"
                " from (select 'ETH' as base)",
                [
                    (t, market, market.split(":")[0], value, value if minutes is None else 0,
                     "backfilled" if t + HOUR <= SINCE and step == "1h" else "recorded")
                    for (t, market), value in rows.items()
                ],
            )  # fmt: skip
            con.execute(
                f"insert into series_base_{step} (t, base, base_key, type, {column}, n_oi, n_volume, source)"
                f" select t, 'ETH', any_value(base_key), 'perp', sum({column}), count(oi_usd), count_if(volume_n = 5),"
                f" any_value(source) from series_market_{step} where base = 'ETH' group by t"
            )
    with running(serving, free_port()) as api:
        yield api


def partial(start: int, end: int, venue: str) -> dict[str, Any]:
    return {"start": start, "end": end, "venue": venue, "reason": "partial"}


@pytest.mark.requirement("series:coverage", "series:gaps:partial")
def test_a_young_installation_says_which_markets_are_in_each_sum(young: Api) -> None:
    asked = {"base": "ETH", "start": NOW - 5 * HOUR, "end": AS_OF_MS, "step": "1h"}
    got = young.series("oi", **asked, coverage="1")
    assert got["v"] == [10, 18, 22, 14, 22]
    assert got["n"] == [1, 2, 3, 2, 3]
    # B was listed for half of the last hour.
    assert got["expected"] == [3, 3, 3, 3, 3]
    assert got["origin"] == ["backfilled", "backfilled", "recorded", "recorded", "recorded"]
    assert got["fields"] == ["v"]
    assert got["gaps"] == [
        {"start": NOW - 5 * HOUR, "end": NOW - 4 * HOUR, "venue": None, "reason": "before_recording"},
        partial(NOW - 4 * HOUR, NOW - 3 * HOUR, "bybit"),
        partial(NOW - 4 * HOUR, NOW - 2 * HOUR, "gate"),
        {"start": GAP[0], "end": GAP[1], "venue": "bybit", "reason": "venue_unreachable"},
    ]
    plain = young.series("oi", **asked)
    assert plain == {name: value for name, value in got.items() if name not in ("n", "expected", "origin")}


@pytest.mark.requirement("series:coverage", "series:gaps:partial")
def test_a_flow_counts_a_market_when_all_minutes_of_the_bucket_are_known(young: Api) -> None:
    early = young.series("volume", base="ETH", start=EARLY, end=EARLY + 10 * MINUTE, step="5m", coverage="1")
    assert (early["v"], early["n"], early["expected"]) == ([7, 10], [1, 2], [3, 3])
    assert early["gaps"] == [
        partial(EARLY, EARLY + 5 * MINUTE, "bybit"),
        partial(EARLY, EARLY + 10 * MINUTE, "gate"),
    ]
    # The bucket of 12:30 has lasted four minutes with bars: A is whole, C lacks one, B is no longer expected.
    late = young.series("volume", base="ETH", start=FIVE - 5 * MINUTE, end=AS_OF_MS, step="5m", coverage="1")
    assert (late["v"], late["n"], late["expected"]) == ([14, 7], [2, 1], [3, 2])
    assert late["gaps"] == [partial(FIVE - 5 * MINUTE, AS_OF_MS, "gate")]


@pytest.mark.requirement("series:coverage")
def test_a_market_and_a_venue_are_covered_like_a_coin(young: Api) -> None:
    asked = {"start": FIVE - 5 * MINUTE, "end": AS_OF_MS, "step": "5m", "coverage": "1"}
    market = young.series("volume", market=A, **asked)
    assert (market["v"], market["n"], market["expected"], market["gaps"]) == ([5, 4], [1, 1], [1, 1], [])
    lacking = young.series("volume", market=C, **asked)
    assert (lacking["n"], lacking["expected"]) == ([0, 0], [1, 1])
    # The bucket that has not ended is counted for all coins at once, and that of a venue has its own markets alone.
    for venue, own in (("binance", market), ("gate", lacking)):
        for kind in ("perp", "all"):
            found = young.series("volume", base="ETH", venue=venue, type=kind, **asked)
            assert [found[name] for name in ("n", "expected", "gaps")] == [
                own[name] for name in ("n", "expected", "gaps")
            ]
    venue = young.series("oi", base="ETH", venue="bybit", start=NOW - 4 * HOUR, end=AS_OF_MS, step="1h", coverage="1")
    assert (venue["v"], venue["n"], venue["expected"]) == ([8, 8, 8], [1, 1, 1], [1, 1, 1])


@pytest.mark.requirement("series:coverage", "series:formats")
def test_every_format_has_the_same_coverage(young: Api) -> None:
    query = f"oi?base=ETH&start={NOW - 5 * HOUR}&end={AS_OF_MS}&step=1h&coverage=1"
    said = young.get(f"/api/series/{query}").json
    table = young.get(f"/api/series/{query}&format=csv").body.decode().partition("\n")[2]
    rows = list(csv.DictReader(io.StringIO(table)))
    assert list(rows[0]) == ["time_utc", "unix_ms", "v", "n", "expected", "origin"]
    assert [int(row["n"]) for row in rows] == said["n"]
    assert [int(row["expected"]) for row in rows] == said["expected"]
    assert [row["origin"] for row in rows] == said["origin"]
    for found in (
        pq.read_table(io.BytesIO(young.get(f"/api/series/{query}&format=parquet").body)),
        ipc.open_stream(young.get(f"/api/series/{query}&format=arrow").body).read_all(),
    ):
        assert found.to_pydict() == {name: said[name] for name in ("t", "v", "n", "expected", "origin")}


@pytest.mark.requirement("series:coverage")
def test_order_books_are_counted_and_none_is_expected(api: Api) -> None:
    got = api.series("ob-depth", base="BTC", coverage="1")
    assert set(got["n"]) == {2}
    assert got["expected"] == got["origin"] == [None] * len(got["t"])
    assert got["t"]


@pytest.mark.requirement("series:coverage", "series:gaps:partial")
def test_shares_and_premiums_count_the_markets_that_ever_had_them(api: Api) -> None:
    """Of ETH, which binance and bybit trade: a share of one is missing in one bucket of 31. Basis needs a spot pair."""
    for metric, venues in (("long-short", {"binance", "bybit"}), ("net-positioning", {"binance", "bybit"})):
        got = api.series(metric, base="ETH", range="30d", step="1h", coverage="1")
        assert set(got["n"]) == {1, 2}, metric
        assert max(got["expected"]) == 2, metric
        lacking = [t for t, n, expected in zip(got["t"], got["n"], got["expected"], strict=True) if n < expected]
        partial = [gap for gap in got["gaps"] if gap["reason"] == "partial" and gap["venue"] in venues]
        assert lacking
        assert all(any(gap["start"] < t + HOUR and gap["end"] > t for gap in got["gaps"]) for t in lacking), metric
        assert partial
        plain = api.series(metric, base="ETH", range="30d", step="1h")
        assert plain["gaps"] == got["gaps"]
    basis = api.series("basis", base="ETH", range="7d", step="1h", coverage="1")
    assert basis["n"]
    assert all(0 <= n <= expected for n, expected in zip(basis["n"], basis["expected"], strict=True))
    one = api.series("long-short", market="binance:perp:ETHUSDT", range="7d", step="1h", coverage="1")
    assert set(one["n"]) == set(one["expected"]) == {1}
