"""Backfilled rows: used only for unrecorded time, marked as backfilled, and never counted as gaps."""

import json
from typing import Any

import pytest

from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded

AT_MS = 1_750_149_480_000
HOUR = 3_600_000
# What a bar becomes, and the tiers that it reaches.
BARS = (
    "raw_window", "staged_bars", "staged_instruments", "staged_categories", "int_categories", "int_listed_markets",
    "int_market_bars",
)  # fmt: skip
BAR_TIERS = ("touched_markets", "series_market_*", "series_base_*")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Seeds and empty models, parsed once for all tests."""
    return seeded(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def warehouse(empty: Warehouse) -> Warehouse:
    return empty.reset()


def klines(price: float, *opened: int, step: int = MINUTE) -> str:
    """Binance's answer of some bars, each two coins at one price."""
    text = str(price)
    return json.dumps(
        [[t, text, text, text, text, "2", t + step - 1, str(2 * price), 3, "1", text, "0"] for t in opened]
    )


def test_a_backfilled_minute_never_replaces_a_recorded_one(warehouse: Warehouse) -> None:
    """Whichever came first, and in one window too; a later history replaces an earlier one."""
    bars = "select minute_ms, close, source from int_market_bars order by 1"
    recorded = response(AT_MS, "binance", "perp_bars", klines(1.0, AT_MS - MINUTE), key="BTCUSDT")
    later = AT_MS + HOUR
    history = klines(9.0, AT_MS - 2 * MINUTE, AT_MS - MINUTE)
    backfilled = response(later, "binance", "history_perp_bars", history, key="BTCUSDT")
    expected = [(AT_MS - 2 * MINUTE, 9.0, "backfilled"), (AT_MS - MINUTE, 1.0, "recorded")]
    for order in ([[recorded], [backfilled]], [[backfilled], [recorded]], [[recorded, backfilled]]):
        warehouse.reset()
        for rows in order:
            warehouse.build(rows, *BARS)
        assert warehouse.rows(bars) == expected
    history = klines(8.0, AT_MS - 2 * MINUTE, AT_MS - MINUTE)
    warehouse.build([response(later + MINUTE, "binance", "history_perp_bars", history, key="BTCUSDT")], *BARS)
    assert warehouse.rows(bars) == [(AT_MS - 2 * MINUTE, 8.0, "backfilled"), (AT_MS - MINUTE, 1.0, "recorded")]


DAY = 86_400_000
DAY_START = AT_MS - AT_MS % DAY
# Hours before the recorder's first, of the same day and of the day before.
EARLY, BEFORE = DAY_START + HOUR, DAY_START - 2 * HOUR
SERIES = [f"series_{subject}_{step}" for step in ("1m", "1h", "4h", "1d") for subject in ("market", "base")]


def recorded_minute() -> list[dict[str, Any]]:
    """A minute of one perp, and the bar of the minute before."""
    ticker = {"symbol": "BTCUSDT", "lastPrice": "100", "quoteVolume": "1000", "closeTime": AT_MS}
    return [
        response(AT_MS, "binance", "perp_tickers", [ticker]),
        response(AT_MS, "binance", "perp_bars", klines(100.0, AT_MS - MINUTE), key="BTCUSDT"),
    ]


def past(asked: int) -> list[list[dict[str, Any]]]:
    """A market's history as separate loads: hours and days (with the recorded hour and day), settlements, two minutes
    of an hour, and the open interest of one of them."""
    hours = klines(50.0, BEFORE, EARLY, AT_MS - AT_MS % HOUR, step=HOUR)
    days = klines(70.0, DAY_START - 2 * DAY, DAY_START - DAY, DAY_START, step=DAY)
    paid = [
        {"symbol": "BTCUSDT", "fundingTime": DAY_START - ago * HOUR, "fundingRate": "0.0001", "markPrice": "1"}
        for ago in (16, 8, 0)
    ]
    minutes = klines(60.0, EARLY, EARLY + 5 * MINUTE)
    end = EARLY + 5 * MINUTE
    held = [{"symbol": "BTCUSDT", "sumOpenInterest": "10", "sumOpenInterestValue": "590", "timestamp": end}]
    return [
        [response(asked, "binance", "history_perp_bars", hours, key="BTCUSDT")],
        [response(asked + MINUTE, "binance", "history_perp_bars", days, key="BTCUSDT")],
        [response(asked + 2 * MINUTE, "binance", "history_settlements", json.dumps(paid))],
        [response(asked + 3 * MINUTE, "binance", "history_perp_bars", minutes, key="BTCUSDT")],
        [
            response(
                asked + 4 * MINUTE, "binance", "open_interest_history", held, key="BTCUSDT", params='{"period": "5m"}'
            )
        ],
    ]


def test_history_fills_the_series_where_nothing_was_recorded_in_any_order(warehouse: Warehouse) -> None:
    loads_of_past = past(AT_MS + DAY)
    results = []
    for loads in ([recorded_minute(), *loads_of_past], [*reversed(loads_of_past), recorded_minute()]):
        warehouse.reset()
        for rows in [*loads, loads[0]]:
            warehouse.build(rows, "path:models/intermediate", *BAR_TIERS)
        results.append(warehouse.snapshot(SERIES))
    assert results[0] == results[1]
    columns = "t, price, volume_usd, round(funding_8h, 12), funding_n, source"
    hour = AT_MS - AT_MS % HOUR
    assert warehouse.rows(f"select {columns} from series_market_1h order by 1") == [
        (DAY_START - 9 * HOUR, None, None, 0.0001, 60, "backfilled"),
        (BEFORE, 50.0, 100.0, 0.0001, 60, "backfilled"),
        (DAY_START - HOUR, None, None, 0.0001, 60, "backfilled"),
        (EARLY, 50.0, 100.0, None, 0, "backfilled"),
        (hour, 100.0, 200.0, None, 0, "recorded"),
    ]
    assert warehouse.rows(f"select {columns} from series_market_1d order by 1") == [
        (DAY_START - 2 * DAY, 70.0, 140.0, None, 0, "backfilled"),
        (DAY_START - DAY, 70.0, 140.0, 0.0001, 180, "backfilled"),
        (DAY_START, 100.0, 300.0, None, 0, "mixed"),
    ]
    assert warehouse.rows("select t, price, source from series_base_1d where type = 'perp' order by 1") == [
        (DAY_START - 2 * DAY, 70.0, "backfilled"),
        (DAY_START - DAY, 70.0, "backfilled"),
        (DAY_START, 100.0, "mixed"),
    ]
    # Two minutes do not make an hour: it keeps the venue's bar.
    assert warehouse.rows("select t, price, oi_usd, source from series_market_1m where t < ? order by 1", [hour]) == [
        (EARLY, 60.0, None, "backfilled"),
        (EARLY + 5 * MINUTE, 60.0, 590.0, "backfilled"),
    ]


def test_history_is_looked_for_only_where_there_is_some(warehouse: Warehouse) -> None:
    """The statement of an hour, and of a day, leaves it out elsewhere; where there is some it stays."""

    def recorded(tick_ms: int, symbol: str) -> list[dict[str, Any]]:
        ticker = {"symbol": symbol, "lastPrice": "100", "quoteVolume": "1000", "closeTime": tick_ms}
        return [response(tick_ms, "binance", "perp_tickers", [ticker])]

    def looked(*rows: dict[str, Any]) -> list[bool]:
        warehouse.build(rows, "path:models/intermediate", *BAR_TIERS)
        files = (warehouse.folder / "target" / "compiled").rglob("series_market_1[hd].sql")
        return ["open_buckets" in file.read_text() for file in sorted(files)]

    hour = AT_MS - AT_MS % HOUR
    past = response(AT_MS + 2 * HOUR, "binance", "history_perp_bars", klines(50.0, hour, step=HOUR), key="ETHUSDT")
    assert looked(*recorded(AT_MS - DAY, "ETHUSDT")) == [False, False]
    assert looked(*recorded(AT_MS - MINUTE, "BTCUSDT")) == [False, False]
    assert looked(past) == [True, True]
    # The minutes of an hour that has some keep it, those of the next hour have none, as the next day.
    assert looked(*recorded(AT_MS + MINUTE, "BTCUSDT")) == [True, True]
    assert looked(*recorded(AT_MS + HOUR, "BTCUSDT")) == [True, False]
    assert looked(*recorded(AT_MS + DAY, "BTCUSDT")) == [False, False]
    columns = "t, symbol, price, source"
    assert warehouse.rows(f"select {columns} from series_market_1h where t >= {hour} order by all") == [
        (hour, "BTCUSDT", 100.0, "recorded"),
        (hour, "ETHUSDT", 50.0, "backfilled"),
        (hour + HOUR, "BTCUSDT", 100.0, "recorded"),
        (hour + DAY, "BTCUSDT", 100.0, "recorded"),
    ]


TIERS = ("series_market_*", "series_ratios_*", "series_venue_ratios_1h")


def history_of_hours() -> list[list[dict[str, Any]]]:
    """Ratios and open interest of past hours, on Binance and OKX; before them what Binance said while recorded."""
    hour, period = AT_MS - AT_MS % HOUR, '{"period": "1h"}'
    shares = [(BEFORE, 0.75), (EARLY, 0.5), (hour, 0.125)]
    # Binance's timestamps are the ends of the buckets.
    accounts = [{"symbol": "BTCUSDT", "longAccount": str(v), "timestamp": str(t + HOUR)} for t, v in shares]
    held = [{"symbol": "BTCUSDT", "sumOpenInterest": "10", "sumOpenInterestValue": "1000", "timestamp": BEFORE + HOUR}]
    fresh = [
        {"symbol": "BTCUSDT", "longAccount": v, "timestamp": t + 5 * MINUTE}
        for t, v in ((hour, "0.3"), (hour + 5 * MINUTE, "0.25"))
    ]
    swap = {
        "instId": "BTC-USDT-SWAP",
        "instType": "SWAP",
        "uly": "BTC-USDT",
        "ctVal": "1",
        "ctMult": "1",
        "state": "live",
    }
    okx = {"data": [[str(BEFORE), "3"], [str(EARLY), "1"]]}
    asked = AT_MS + DAY
    return [
        [
            *recorded_minute(),
            response(AT_MS, "binance", "long_short_accounts", fresh, key="BTCUSDT", params='{"period": "5m"}'),
            response(AT_MS, "okx", "instruments", {"data": [swap]}),
        ],
        [response(asked, "binance", "history_long_short_accounts", accounts, key="BTCUSDT", params=period)],
        [response(asked + MINUTE, "binance", "open_interest_history", held, key="BTCUSDT", params=period)],
        [
            response(
                asked + 2 * MINUTE,
                "okx",
                "history_long_short_accounts",
                okx,
                key="BTC-USDT-SWAP",
                params='{"period": "1H"}',
            )
        ],
    ]


@pytest.mark.requirement("series:ratios:backfilled")
def test_ratios_include_hours_of_history_in_any_order(warehouse: Warehouse) -> None:
    """Hours of history are served next to recorded ones, which they do not replace, and not at finer steps; net
    positioning takes the backfilled open interest of the same hour, whichever came first."""
    recorded, *history = history_of_hours()
    hour, results = AT_MS - AT_MS % HOUR, []
    for loads in ([recorded, *history], [recorded, *reversed(history)]):
        warehouse.reset()
        for rows in [*loads, loads[0]]:
            warehouse.build(rows, "path:models/intermediate", "touched_markets", *TIERS)
        results.append(warehouse.snapshot(["series_ratios_5m", "series_ratios_1h", "series_ratios_1d"]))
        assert warehouse.rows("select t, venue, accounts, source from series_ratios_1h order by t, venue") == [
            (BEFORE, "binance", 0.75, "backfilled"),
            (BEFORE, "okx", 0.75, "backfilled"),
            (EARLY, "binance", 0.5, "backfilled"),
            (EARLY, "okx", 0.5, "backfilled"),
            (hour, "binance", 0.25, "recorded"),
        ]
        assert warehouse.rows("select t, accounts from series_ratios_5m order by t") == [
            (hour, 0.3),
            (hour + 5 * MINUTE, 0.25),
        ]
        split = "select t, venue, oi_usd * accounts from series_venue_ratios_1h where oi_usd > 0"
        assert warehouse.rows(split) == [(BEFORE, "binance", 750.0)]
    assert results[0] == results[1]
