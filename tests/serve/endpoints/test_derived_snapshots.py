"""Depth, ranking, listings, premiums and wallets' liquidations on a small replica: order, shares, limits, states."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, LAST, publish, write_pointer
from tests.support.replica.replica_snapshots import DAY, HOUR, MINUTE
from tests.support.servers.api_server import Api, free_port, running, until

KIMCHI, COINBASE = "/api/kimchi-premium/history?base=BTC", "/api/coinbase-premium/history?base=BTC"
LOADING = ("/api/order-book-depth", "/api/perp-dex-ranking", "/api/new-listings")
DB_FALSE = (KIMCHI, COINBASE, "/api/hyperliquid/liquidations")


@pytest.mark.requirement("depth:shape", "depth:order", "depth:missing")
def test_depth(api: Api) -> None:
    content = api.get("/api/order-book-depth").json
    assert {name: content[name] for name in content if name not in ("venues", "source")} == {
        "bands_pct": [0.1], "as_of": LAST, "state": "partial", "imbalance_band_pct": 1.0, "market_order_usd": 100_000,
        "levels_per_side": 500, "n_books": 4, "n_failed": 3,
    }  # fmt: skip
    binance, bybit = content["venues"]
    assert (binance["venue"], binance["n_universe"], binance["missing"]) == ("binance", 3, ["OLDUSDT"])
    assert [market["symbol"] for market in binance["markets"]] == ["ETHUSDT", "BTCUSDT"]
    # Equal open interest: by market id.
    assert [market["symbol"] for market in bybit["markets"]] == ["BBBUSDT", "BTCUSDT"]
    assert (bybit["n_universe"], bybit["missing"]) == (3, ["NEWUSDT"])
    assert binance["markets"][1] == {
        "symbol": "BTCUSDT", "base": "BTC", "mid": 60_000.0, "imbalance": 0.2, "imbalance_range_pct": 1.0,
        "cost_buy_bps": 3.5, "cost_buy_truncated": False, "cost_sell_bps": 4.5, "cost_sell_truncated": True,
        "depth": [{"band_pct": 0.1, "bid_usd": 600.0, "ask_usd": 400.0, "total_usd": 1000.0,
                   "bid_truncated": False, "ask_truncated": True}],
    }  # fmt: skip


@pytest.mark.requirement("depth:unavailable", "dex:unavailable", "listings:unavailable", "kimchi:empty")
def test_without_anything_to_show(tmp_path: Path) -> None:
    """Tables without rows are still loading; books that are all too old are unavailable. Never an empty 200."""
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from listings; delete from venue_totals; update order_book_depth set book_ms = 0")
        con.execute("delete from premiums")
    with running(tmp_path / "serving", free_port()) as api:
        for path_of, state in zip(LOADING, ("unavailable", "loading", "loading"), strict=True):
            answer = api.get(path_of)
            assert (answer.status, answer.json["state"]) == (503, state), path_of
            assert answer.error
            assert int(answer.headers["retry-after"]) > 0
        empty = api.get(KIMCHI).json
        assert (empty["t"], empty["upbit"], "db" in empty) == ([], [], False)


@pytest.mark.requirement("depth:unavailable", "dex:unavailable", "listings:unavailable", "kimchi:db", "wallets:db")
def test_without_a_replica(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    with running(serving, free_port()) as api:
        _nothing_readable(api, "loading", None)
        for wrong in ("/api/coinbase-premium/history?base=SOL", f"{KIMCHI}&range=11y"):
            assert api.get(wrong).status == 400
        write_pointer(serving, "{")
        until(lambda: api.get(LOADING[0]).json["state"], lambda state: state == "unavailable")
        _nothing_readable(api, "unavailable", "unavailable")


def _nothing_readable(api: Api, state: str, error: str | None) -> None:
    for path in LOADING:
        answer = api.get(path)
        assert (answer.status, answer.json["state"]) == (503, state), path
        assert int(answer.headers["retry-after"]) > 0
    for path in DB_FALSE:
        answer = api.get(path)
        assert (answer.status, answer.json["db"], answer.json.get("error")) == (200, False, error), path
        assert answer.json.get("hourly", answer.json)["t"] == []
        assert answer.headers["cache-control"] == "no-store"


def dex(tmp_path: Path, age_s: int, changes: str = "") -> dict[str, Any]:
    """The ranking of a replica that is so old now."""
    path = publish(tmp_path / "serving", 1, max_days=1)
    if changes:
        with duckdb.connect(str(path)) as con:
            con.execute(changes)
    with running(tmp_path / "serving", free_port(), now_ms=AS_OF_MS + age_s * 1000) as api:
        answer = api.get("/api/perp-dex-ranking")
        assert answer.headers["cache-control"] == "no-store"
        content: dict[str, Any] = answer.json
        return content


@pytest.mark.requirement("dex:shape", "dex:shares", "dex:status")
def test_ranking_has_live_stale_and_missing_venues(tmp_path: Path) -> None:
    content = dex(tmp_path, 20)
    live, stale, missing = content["venues"]
    assert 20 <= live.pop("age_s") < 200
    assert 620 <= stale.pop("age_s") < 800
    assert live == {
        "rank": 1, "venue": "hyperliquid", "name": "Hyperliquid", "status": "live", "oi_usd": 600.0,
        "vol24h_usd": 300.0, "oi_share": 600 / 700, "vol_share": 0.3, "oi_partial": False, "n_markets": 3,
    }  # fmt: skip
    assert stale == {
        "rank": 2, "venue": "aster", "name": "Aster", "status": "stale", "oi_usd": 100.0, "vol24h_usd": 700.0,
        "oi_share": 100 / 700, "vol_share": 0.7, "oi_partial": True, "n_markets": 5,
    }  # fmt: skip
    nulls = ("rank", "age_s", "oi_usd", "vol24h_usd", "oi_share", "vol_share", "oi_partial", "n_markets")
    assert missing == {"venue": "lighter", "name": "Lighter", "status": "missing", **dict.fromkeys(nulls)}
    totals = ("total_oi_usd", "total_vol24h_usd", "n_live", "n_venues", "n_markets")
    assert [content[name] for name in totals] == [700.0, 1000.0, 1, 3, 8]
    for share in ("oi_share", "vol_share"):
        assert math.isclose(sum(venue[share] or 0 for venue in content["venues"]), 1, abs_tol=1e-12)


@pytest.mark.requirement("dex:status")
def test_a_young_recording_is_loading_and_a_day_old_value_is_none(tmp_path: Path) -> None:
    young = "update edition set recorded_since_ms = as_of_ms - 240000; delete from venue_totals where venue = 'aster'"
    assert [venue["status"] for venue in dex(tmp_path, 20, young)["venues"]] == ["live", "loading", "loading"]
    old = "update venue_totals set observed_ms = observed_ms - 86400000 where venue = 'aster'"
    assert [venue["status"] for venue in dex(tmp_path, 20, old)["venues"]] == ["live", "missing", "missing"]


@pytest.mark.requirement("dex:status")
def test_an_old_edition_has_no_live_venue(tmp_path: Path) -> None:
    content = dex(tmp_path, 3600)
    assert [venue["status"] for venue in content["venues"]] == ["stale", "stale", "missing"]
    assert content["n_live"] == 0


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


def hours(n: int) -> list[int]:
    """The hours of the replica's premiums from n before the newest, oldest first: every seventh is unknown."""
    newest = LAST - LAST % HOUR
    return [t for t in range(newest - n * HOUR, newest + 1, HOUR) if (t // HOUR) % 7]


@pytest.mark.requirement("kimchi:shape", "kimchi:values")
def test_kimchi_premium(api: Api) -> None:
    answer = api.get(KIMCHI.replace("BTC", "btc"))
    content = answer.json
    assert int(answer.headers["x-ratelimit-limit"]) == 30
    assert [content[name] for name in ("metric", "base", "step", "unit", "fields", "end")] == [
        "kimchi-premium", "BTC", HOUR, "percent", ["upbit", "bithumb"], AS_OF_MS,
    ]  # fmt: skip
    newest = LAST - LAST % HOUR
    assert content["t"] == hours(720)
    assert content["upbit"] == pytest.approx([1 + (newest - t) / HOUR / 1000 for t in content["t"]])
    recent = [t >= newest - 2 * HOUR for t in content["t"]]
    assert [value is not None for value in content["bithumb"]] == recent
    assert content["upbit_usdt"] == [2.0] * len(recent)
    assert content["bithumb_usdt"] == [None] * len(recent)
    assert content["source"].endswith(f"1400 won a dollar by bank, {7200 + (AS_OF_MS - LAST) // 1000} s old")
    assert {gap["venue"] for gap in content["gaps"]} == {None}


@pytest.mark.requirement("kimchi:step")
@pytest.mark.parametrize(
    ("length", "step"),
    [("90d", HOUR), ("91d", 4 * HOUR), ("366d", 4 * HOUR), ("2y", DAY), ("6y", DAY), ("10y", 2 * DAY)],
)
@pytest.mark.parametrize("path", [KIMCHI, COINBASE])
def test_longer_ranges_have_coarser_means(api: Api, path: str, length: str, step: int) -> None:
    content = api.get(f"{path}&range={length}").json
    assert content["step"] == step
    assert (content["end"] - content["start"]) / step <= 2200
    assert content["start"] % step == 0
    name = content["fields"][0]
    newest = LAST - LAST % HOUR
    values = {t: 1 + (newest - t) / HOUR / 1000 for t in hours(9999) if t >= content["start"]}
    buckets: dict[int, list[float]] = {}
    for t, value in values.items():
        buckets.setdefault(t - t % step, []).append(value)
    assert content["t"] == sorted(buckets)
    assert content[name] == pytest.approx([sum(of) / len(of) for _, of in sorted(buckets.items())])


@pytest.mark.requirement("kimchi:bad")
def test_bad_premium_requests(api: Api) -> None:
    assert "use one of BTC, ETH, PEPE, SOL, XRP" in api.get("/api/kimchi-premium/history?base=DOGE").error
    assert api.get("/api/kimchi-premium/history?base=xrp&range=1h").json["base"] == "XRP"
    assert "use one of BTC, ETH" in api.get("/api/coinbase-premium/history?base=PEPE").error
    for path in (KIMCHI, COINBASE):
        assert "at most 10y" in api.get(f"{path}&range=11y").error
        for wrong in (path.partition("?")[0], f"{path}&range=0d", f"{path}&start=1"):
            answer = api.get(wrong)
            assert answer.status == 400, wrong


@pytest.mark.requirement("coinbase:shape")
def test_coinbase_premium(api: Api) -> None:
    content = api.get(COINBASE).json
    assert (content["fields"], content["unit"]) == (["premium", "gap"], "percent, USD")
    assert content["t"] == hours(720)
    assert content["gap"] == pytest.approx([(LAST - LAST % HOUR - t) / HOUR for t in content["t"]])
    assert set(content["usdt_usd"]) == {1400.0}


@pytest.mark.requirement("wallets:shape", "wallets:window")
def test_wallet_liquidations(api: Api) -> None:
    content = api.get("/api/hyperliquid/liquidations").json
    assert (content["window"], content["from"], content["to"]) == ("24h", AS_OF_MS - DAY, AS_OF_MS)
    # The event exactly a day ago is in, the one a millisecond before is not.
    assert content["totals"] == {"long_usd": 260.0, "short_usd": 50.0, "n_long": 3, "n_short": 1}
    assert content["coins"] == [
        {"coin": "BTC", "long_usd": 100.0, "short_usd": 50.0, "n": 2},
        {"coin": "ETH", "long_usd": 150.0, "short_usd": 0.0, "n": 1},
        {"coin": "SOL", "long_usd": 10.0, "short_usd": 0.0, "n": 1},
    ]
    assert [(row["usd"], row["coin"], row["wallet"]) for row in content["largest"]] == [
        (150.0, "ETH", "0x3"), (100.0, "BTC", "0x1"), (50.0, "BTC", "0x2"), (10.0, "SOL", "0x4"),
    ]  # fmt: skip
    hourly = content["hourly"]
    assert len(hourly["t"]) == 25
    assert (hourly["long"][0], hourly["long"][-1], sum(hourly["short"])) == (10.0, 100.0, 50.0)
    # The recorder was down for eleven minutes.
    assert (content["complete"], content["partial"], content["overflow"]) == (False, True, False)
    assert content["coverage"]["fraction"] == pytest.approx(1 - 11 / 1440)
    assert (content["retained_count"], content["oldest_retained_ms"]) == (5, AS_OF_MS - DAY - 1)
    week = api.get("/api/hyperliquid/liquidations?window=7d").json
    assert week["totals"]["short_usd"] == 1050.0
    # Recording began three days ago: no hour before has a zero.
    assert week["hourly"]["long"][:95] == [None] * 95
    assert week["hourly"]["long"][97] == 0
    assert "use one of 24h, 7d" in api.get("/api/hyperliquid/liquidations?window=1h").error


@pytest.mark.requirement("wallets:shape")
def test_a_window_that_was_recorded_whole_is_complete(tmp_path: Path) -> None:
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from gaps")
    with running(tmp_path / "serving", free_port()) as api:
        day, week = (api.get(f"/api/hyperliquid/liquidations?window={window}").json for window in ("24h", "7d"))
        assert (day["complete"], day["partial"], day["coverage"]["fraction"]) == (True, False, 1.0)
        assert (week["complete"], week["partial"]) == (False, True)
        assert week["coverage"]["fraction"] == pytest.approx(3 / 7)
