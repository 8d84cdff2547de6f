"""Liquidation exposure within a band relative to the depth of the index: weights, legs, band edges and ages."""

from typing import Any

import pytest

from tests.support.facts.mart_facts import MINUTE, T0, Warehouse, instrument, market

NOW = T0 + 60 * MINUTE
BANDS = (0.5, 1.0, 2.0, 5.0)
PERPS = {
    name: market(f"binance:perp:{name}USDT", name) for name in ("A", "NOLEG", "CUT", "BLIND", "SILENT", "ALONE", "EVEN")
}


def depth(usd: float, cut: float = 9.0) -> list[dict[str, Any]]:
    """A book that holds so much per percent of bids and half as much of asks, up to a distance."""
    return [
        {"band_pct": band, "bid_usd": usd * min(band, cut), "ask_usd": usd * min(band, cut) / 2,
         "bid_truncated": cut < band, "ask_truncated": False}
        for band in BANDS
    ]  # fmt: skip


def legs(*of: tuple[str, str | None, float | None]) -> list[dict[str, Any]]:
    return [{"exchange": exchange, "pair": pair, "weight": weight} for exchange, pair, weight in of]


COMPOSITIONS = {
    "A": legs(("binance", "AUSDT", 0.6), ("okx", "A/USDT", 0.3), ("gate", "A_USDT", 0.1), ("kraken", "AUSD", 0.0)),
    "NOLEG": legs(("binance", "AUSDT", 0.5), ("kraken", "AUSD", 0.5)),
    "CUT": legs(("bybit", "CUTUSDT", 1.0)),
    "BLIND": legs(("kraken", "BLINDUSD", 1.0)),
    "SILENT": legs(("binance", "AUSDT", 1.0)),
    "EVEN": legs(("binance", None, None), ("okx", None, None)),
}
BOOKS = (
    ("binance", "AUSDT", "A", NOW, depth(1000)),
    ("okx", "A-USDT", "A", NOW - 5 * MINUTE, depth(2000)),
    ("gate", "A_USDT", "A", NOW - 10 * MINUTE, depth(4000)),
    ("gate", "A_USDT", "A", NOW - 15 * MINUTE, depth(9000)),
    ("bybit", "CUTUSDT", "CUT", NOW, depth(1000, cut=1.5)),
    ("binance", "NOLEGUSDT", "NOLEG", NOW, depth(1)),
    ("binance", "BLINDUSDT", "BLIND", NOW, depth(1)),
    ("binance", "SILENTUSDT", "SILENT", NOW, depth(1)),
    ("binance", "EVENUSDC", "EVEN", NOW, depth(1)),
    ("binance", "EVENUSDT", "EVEN", NOW, depth(1000)),
    ("okx", "EVEN-USDT", "EVEN", NOW, depth(3000)),
)
# Prices of bins away from 100: the middle of bin 4607 is 100.0208.
MAPS = (
    ("A", 1, "long", 4604, 10.0), ("A", 1, "long", 4599, 20.0), ("A", 1, "long", 4570, 40.0),
    ("A", 1, "long", 4500, 80.0),
    ("A", 1, "short", 4611, 5.0), ("A", 0.5, "long", 4604, 3.0), ("A", 2, "long", 4604, 30.0),
    ("CUT", 1, "long", 4604, 10.0), ("NOLEG", 1, "long", 4604, 10.0), ("BLIND", 1, "long", 4604, 10.0),
    ("EVEN", 1, "long", 4604, 10.0),
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = Warehouse(tmp_path_factory.mktemp("xray"))
    made.write("insert into raw_window (venue, endpoint) values ('v', 'index_books')")
    made.add("instruments", [instrument(one) for one in PERPS.values()])
    made.add_many(
        "int_market_minutes",
        [
            {**one, "minute_ms": NOW - MINUTE * back, "price": price, "oi_usd": None if name == "SILENT" else 1e6}
            for name, one in PERPS.items()
            for back, price in ((3, 90.0), (2, 100.0))
        ],
    )
    made.add_many(
        "int_index_components",
        [
            {"market_id": PERPS[name]["market_id"], "since_ms": since, "base": name, "components": components}
            for name, of in COMPOSITIONS.items()
            for since, components in ((T0, legs(("okx", "OLD", 1.0))), (T0 + MINUTE, of))
        ],
    )
    made.add_many(
        "int_index_depth",
        [
            {"tick_ms": minute, "market_id": f"{venue}:spot:{symbol}", "venue": venue, "type": "spot", "symbol": symbol,
             "base": base, "quote": "USDT", "depth": of}
            for venue, symbol, base, minute, of in BOOKS
        ],
    )  # fmt: skip
    made.add_many(
        "int_liquidation_maps",
        [
            {"frozen_ms": frozen, "t": NOW, "market_id": PERPS[name]["market_id"], "scenario": float(scenario),
             "side": side, "bin": at, "usd": usd * (1 if frozen == 0 else 7)}
            for frozen in (0, T0)
            for name, scenario, side, at, usd in MAPS
        ],
    )  # fmt: skip
    # Written for the end of the last five minutes, by a build that a publish knows by its own minute.
    made.window([NOW + 2 * MINUTE])
    made.dbt("run", "--select", "xray_risk", "xray_index")
    return made


def row(warehouse: Warehouse, name: str, band: float) -> dict[str, Any]:
    query = "from xray_risk where market_id = ? and band_pct = ?"
    [found] = warehouse.records(query, PERPS[name]["market_id"], band)
    return found


@pytest.mark.requirement("xray:rows")
def test_exposure_and_depth_by_hand(warehouse: Warehouse) -> None:
    """Longs at -0.28 %, -0.78 %, -3.6 % and -10 %, shorts at +0.42 % of 100. Depth per percent: 0.6 x 1000 + 0.3 x 2000
    + 0.1 x 4000 = 1600; the leg without weight takes no part, and an older book does not count."""
    for band, longs, low, high in ((0.5, 10, 3, 30), (1.0, 30, 3, 30), (2.0, 30, 3, 30), (5.0, 70, 3, 30)):
        found = row(warehouse, "A", band)
        assert (found["t"], found["tick_ms"]) == (NOW, NOW + 2 * MINUTE)
        assert (found["price"], found["oi_usd"]) == (100.0, 1e6)
        assert found["long_exposure_usd"] == longs
        assert (found["long_exposure_low_usd"], found["long_exposure_high_usd"]) == (low, high)
        assert (found["short_exposure_usd"], found["short_exposure_low_usd"]) == (5, 0)
        assert found["bid_depth_usd"] == pytest.approx(1600 * band)
        assert found["ask_depth_usd"] == pytest.approx(800 * band)
        assert (found["coverage"], found["reason"], found["legs_present"], found["legs_published"]) == (
            "full",
            None,
            3,
            3,
        )
        assert found["oldest_input_ms"] == NOW - 10 * MINUTE


@pytest.mark.requirement("xray:rows")
def test_missing_inputs_are_named_as_the_reason(warehouse: Warehouse) -> None:
    noleg = row(warehouse, "NOLEG", 1.0)
    assert (noleg["coverage"], noleg["reason"], noleg["bid_depth_usd"]) == ("partial", "missing_legs", 1000)
    assert (noleg["legs_present"], noleg["legs_published"]) == (1, 2)
    # A book that ends at 1.5 % covers the bands inside it.
    assert [row(warehouse, "CUT", band)["coverage"] for band in BANDS] == ["full", "full", "partial", "partial"]
    assert row(warehouse, "CUT", 2.0)["reason"] == "truncated_book"
    for name, reason in (("BLIND", "no_books"), ("SILENT", "no_open_interest")):
        found = row(warehouse, name, 1.0)
        assert (found["coverage"], found["reason"]) == ("insufficient", reason)
    # Neither pairs nor weights are published: each exchange's deepest book of the coin, all alike.
    even = row(warehouse, "EVEN", 1.0)
    assert (even["coverage"], even["bid_depth_usd"]) == ("full", 2000)
    assert warehouse.rows("select count(*) from xray_risk where base = 'ALONE'") == [(0,)]


@pytest.mark.requirement("xray:rows")
def test_the_newest_composition(warehouse: Warehouse) -> None:
    query = "select exchange, pair, weight, since_ms from xray_index where market_id = ? order by weight desc, exchange"
    assert warehouse.rows(query, PERPS["A"]["market_id"]) == [
        ("binance", "AUSDT", 0.6, T0 + MINUTE), ("okx", "A/USDT", 0.3, T0 + MINUTE),
        ("gate", "A_USDT", 0.1, T0 + MINUTE), ("kraken", "AUSD", 0.0, T0 + MINUTE),
    ]  # fmt: skip
    assert warehouse.rows(query, PERPS["EVEN"]["market_id"]) == [
        ("binance", "EVEN", None, T0 + MINUTE), ("okx", "EVEN", None, T0 + MINUTE),
    ]  # fmt: skip


@pytest.mark.requirement("xray:rows")
def test_a_window_twice_changes_nothing(warehouse: Warehouse) -> None:
    before = warehouse.rows("from xray_risk order by all")
    warehouse.dbt("run", "--select", "xray_risk")
    assert warehouse.rows("from xray_risk order by all") == before
    assert len(before) == 6 * len(BANDS)
