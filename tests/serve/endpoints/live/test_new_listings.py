"""GET /api/new-listings on a small replica: windows, changes, and lists that failed."""

import math
from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, LAST, publish
from tests.support.replica.replica_snapshots import DAY, MINUTE
from tests.support.servers.api_server import Api, free_port, running


@pytest.mark.requirement("listings:shape", "listings:window", "listings:change")
def test_new_listings(api: Api) -> None:
    content = api.get("/api/new-listings").json
    assert (content["counts"], content["failed"], content["missing"]) == ({"binance": 4, "bybit": 1}, [], [])
    assert [content[name] for name in ("window", "days", "as_of", "live_as_of")] == ["90d", 90, AS_OF_MS, LAST]
    rows = content["listings"]
    assert [(row["venue"], row["symbol"], row["age_days"], row["live"]) for row in rows] == [
        ("binance", "BTCUSDT", 10, True), ("binance", "GONEUSDT", 10, False), ("bybit", "ETHUSDT", 29.5, True),
        ("binance", "ETHUSDT", 60.25, True), ("binance", "1000PEPEUSDT", 80, True),
    ]  # fmt: skip
    # Of two that have not opened yet the one that is traded already counts.
    bitcoin, gone, bybit, ether, _ = rows
    assert bitcoin["listed_ms"] == AS_OF_MS - 10 * DAY
    assert math.isclose(bitcoin["change"], bitcoin["price"] / 50_000 - 1)
    perps = {
        (perp["venue"], perp["symbol"]): perp
        for coin in api.get("/api/markets").json["coins"]
        for perp in coin["perps"]
    }
    assert bitcoin["oi_usd"] > 0
    assert ("binance", bitcoin["symbol"]) in perps
    assert [gone[name] for name in ("price", "change", "oi_usd", "vol_24h", "funding")] == [None] * 5
    assert (bybit["first_open"], bybit["price"] > 0, bybit["change"]) == (3000, True, None)
    assert (ether["first_open"], ether["change"]) == (None, None)
    month = api.get("/api/new-listings?window=30d").json
    assert (month["counts"], month["days"], month["listings"]) == ({"binance": 2, "bybit": 1}, 30, rows[:3])
    assert "use one of 30d, 90d" in api.get("/api/new-listings?window=7d").error


@pytest.mark.requirement("listings:sources")
def test_a_list_that_failed_and_one_that_was_never_read(tmp_path: Path) -> None:
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from listings where venue = 'bybit'")
        for venue, until_ms in (("binance", LAST + MINUTE), ("bybit", LAST)):
            gap = [LAST - 10 * MINUTE, until_ms, venue, "instruments", "venue_error"]
            con.execute("insert into gaps values (?, ?, ?, ?, ?)", gap)
    with running(tmp_path / "serving", free_port()) as api:
        content = api.get("/api/new-listings").json
        assert (content["counts"], content["failed"], content["missing"]) == ({"binance": 4}, ["binance"], ["bybit"])
