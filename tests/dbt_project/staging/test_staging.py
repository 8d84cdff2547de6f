"""Staging and intermediate models: dbt's own unit tests, and windows built again, twice and in any order."""

import json
import time
from typing import Any

import pytest
from dbt.adapters.duckdb.environments.local import DuckDBCursorWrapper

from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span

AT_MS = 1_750_149_480_000
TABLES = (
    "instruments",
    "int_market_minutes",
    "int_lost_markets",
    "int_market_bars",
    "int_liquidations",
    "int_response_minutes",
    "int_stream_minutes",
    "int_rejected",
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Seeds and empty models, parsed once for all tests."""
    return seeded(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def warehouse(empty: Warehouse) -> Warehouse:
    return empty.reset()


def minute(at: int, price: float = 100.0, *, intervals: bool = True) -> list[dict[str, Any]]:
    """One minute of two venues: tickers, funding with intervals, OI, a closed and an open bar, a liquidation."""
    open_bar, closed_bar = at - at % MINUTE, at - at % MINUTE - MINUTE
    text = str(price)
    klines = [
        [start, text, text, text, text, "2", start + 59_999, str(2 * price), 3, "1", text, "0"]
        for start in (closed_bar, open_bar)
    ]
    oi = {"symbol": "BTCUSDT", "openInterest": "7", "time": at}
    rate = {"markPrice": text, "indexPrice": "1", "lastFundingRate": "0.0001", "nextFundingTime": at + 3_600_000}
    order = {"s": "BTCUSDT", "S": "SELL", "q": "9", "p": "99", "ap": str(price), "z": "2", "l": "1", "T": at + 500}
    rows = [
        response(
            at,
            "binance",
            "perp_tickers",
            [{"symbol": "BTCUSDT", "lastPrice": str(price), "quoteVolume": "1000", "closeTime": at}],
        ),
        response(
            at,
            "binance",
            "funding",
            [{"symbol": symbol, **rate} for symbol in ("BTCUSDT", "LPTUSDT")],
        ),
        response(at, "binance", "open_interest", oi, key="BTCUSDT"),
        response(at, "binance", "perp_bars", klines, key="BTCUSDT"),
        span(at, "binance", [{"e": "forceOrder", "E": at + 500, "o": order}], key="all"),
        response(
            at,
            "bybit",
            "perp_tickers",
            {
                "retCode": 0,
                "result": {
                    "list": [
                        {
                            "symbol": "BTCUSDT",
                            "lastPrice": str(price + 1),
                            "markPrice": str(price),
                            "turnover24h": "500",
                            "fundingRate": "0.0002",
                            "fundingIntervalHour": "4",
                            "openInterest": "10",
                            "deliveryTime": "0",
                        }
                    ]
                },
            },
        ),
    ]
    if intervals:
        rows.append(response(at, "binance", "funding_intervals", [{"symbol": "LPTUSDT", "fundingIntervalHours": 4}]))
    return rows


def test_unit_tests_and_seed_tests_of_the_layer_pass(warehouse: Warehouse) -> None:
    """Every dbt unit test and data test of seeds, staging and intermediate models; none is skipped."""
    layer = ("path:models/staging", "path:models/intermediate", "path:seeds")
    own = ("seeds_are_keys_with_positive_factors", "unmapped_multipliers", "unknown_quotes", "names_of_several_coins")
    # Cautious: what is tested together with a mart is a test of the mart.
    statuses = warehouse.dbt("test", "--indirect-selection", "cautious", "--select", *layer, *own)
    assert statuses["pass"] > 80
    assert set(statuses) <= {"pass", "warn"}


def test_a_window_built_twice_or_landed_twice_changes_nothing(warehouse: Warehouse) -> None:
    """A repeated build, and a load that repeats rows landed before, leave every table as it was."""
    rows = minute(AT_MS) + minute(AT_MS + MINUTE, 101.0)
    first = warehouse.build(rows)
    before = warehouse.snapshot((*TABLES, "int_touched_minutes"))
    assert len(before["int_market_minutes"]) == 6
    assert len(before["int_liquidations"]) == 2
    warehouse.dbt("run", "--select", "path:models/intermediate")
    assert warehouse.snapshot((*TABLES, "int_touched_minutes")) == before
    again = warehouse.land("again", rows[:7])
    warehouse.window([first, again], [AT_MS, AT_MS + MINUTE])
    warehouse.dbt("run", "--select", "path:models/intermediate")
    assert warehouse.snapshot((*TABLES, "int_touched_minutes")) == before


def test_backfilled_responses_that_are_built_are_not_read_again(warehouse: Warehouse) -> None:
    """Late rows of another venue: what the backfill landed with their minute stays counted, and is not read."""
    bars = [[AT_MS - 7_200_000, *["1"] * 5, AT_MS - 3_600_001, "2", 3, "1", "1", "0"]]
    history = [
        response(AT_MS, "binance", "history_perp_bars", body, key=key)
        for key, body in (("BTCUSDT", bars), ("LPTUSDT", "<html>"))
    ]
    *of_binance, of_bybit, intervals = minute(AT_MS)
    first = warehouse.build([*of_binance, intervals, *history])
    counted = "select * from {} where ends_with(endpoint, 'bars') order by all"
    counts = [warehouse.rows(counted.format(table)) for table in ("int_response_minutes", "int_rejected")]
    assert [(row[2:6]) for row in counts[0]] == [("history_perp_bars", 2, 1, 1), ("perp_bars", 1, 1, 0)]
    assert [(row[2:4]) for row in counts[1]] == [("history_perp_bars", 1)]
    warehouse.window([first, warehouse.land("late", [of_bybit])], [AT_MS])
    reads = "select count_if(endpoint = 'history_perp_bars'), count(distinct venue) from raw_window"
    for built, read in (([(AT_MS, "binance")], 0), ([(AT_MS, "bybit")], 2)):
        with warehouse.connect() as db:
            db.execute("delete from pipeline.window_built")
            db.executemany("insert into pipeline.window_built values (?, ?)", built)
        warehouse.dbt("run", "--select", "path:models/intermediate")
        assert warehouse.rows(reads) == [(read, 2)]
        again = [warehouse.rows(counted.format(table)) for table in ("int_response_minutes", "int_rejected")]
        assert again == counts
        assert warehouse.rows("select count(*) from int_market_minutes") == [(3,)]
    with warehouse.connect() as db:
        db.execute("delete from pipeline.window_built")


def test_windows_in_either_order_give_the_same_tables(warehouse: Warehouse) -> None:
    """A late minute is added and changes no other; of a bar that two minutes report, the later version is kept. A
    market that the second minute lacks is lost, also where the first one comes late."""
    first, second = minute(AT_MS), minute(AT_MS + MINUTE, 101.0)
    second[1]["body"] = json.dumps(json.loads(second[1]["body"])[:1])
    # The second minute reports the first one's bar again.
    bars = second[3]["body"].replace(str(AT_MS), str(AT_MS - MINUTE))
    second[3]["body"] = bars.replace(str(AT_MS + 59_999), str(AT_MS - 1))
    results = []
    for order in ((first, second), (second, first)):
        warehouse.reset()
        for rows in order:
            warehouse.build(rows)
        tables = warehouse.snapshot(table for table in TABLES if table != "instruments")
        tables["instruments"] = warehouse.rows("select * exclude (seen_ms) from instruments order by all")
        results.append(tables)
        assert warehouse.rows("select close from int_market_bars where minute_ms = ?", [AT_MS - MINUTE]) == [(101.0,)]
        lost = "select market_id, family, lost_ms, markets, back_ms from int_lost_markets"
        assert warehouse.rows(lost) == [("binance:perp:LPTUSDT", "funding", AT_MS + MINUTE, 2, None)]
    assert results[0] == results[1]


def test_an_empty_window_builds_nothing(warehouse: Warehouse) -> None:
    warehouse.window([], [])
    warehouse.dbt("run", "--select", "path:models/intermediate")
    assert not any(warehouse.snapshot((*TABLES, "raw_window", "int_touched_minutes")).values())


def test_a_broken_body_fails_its_own_rows_alone_and_visibly(warehouse: Warehouse) -> None:
    """Truncated, changed and refused bodies: the other kinds and venues keep their rows; counts say what happened."""
    rows = minute(AT_MS)
    rows[0]["body"] = rows[0]["body"][:40]
    rows[2]["body"] = rows[2]["body"].replace("openInterest", "oi")
    warehouse.build(rows)
    assert warehouse.rows("select venue, symbol, price, oi_usd, funding_8h from int_market_minutes order by all") == [
        ("binance", "BTCUSDT", None, None, 0.0001),
        ("binance", "LPTUSDT", None, None, 0.0002),
        ("bybit", "BTCUSDT", 101.0, 500.0, 0.0004),
    ]
    assert warehouse.rows("select endpoint, broken_bodies, reason from int_rejected order by all") == [
        ("open_interest", 1, "changed"),
        ("perp_tickers", 1, "unreadable"),
    ]
    failed = "select venue, endpoint, ok, broken, error from int_response_minutes where failed > 0 order by all"
    assert warehouse.rows(failed) == [
        ("binance", "open_interest", 0, 1, "body changed"),
        ("binance", "perp_tickers", 0, 1, "body unreadable"),
    ]


def test_an_interval_is_carried_five_minutes_and_never_further(warehouse: Warehouse) -> None:
    """Minutes built one by one: a carried interval is not carried on; a list that was not read is not 8 hours."""
    warehouse.build(minute(AT_MS))
    for n in (3, 5, 6):
        warehouse.build(minute(AT_MS + n * MINUTE, intervals=False))
    intervals = """
        select (minute_ms - ?) // 60000, funding_interval_h, funding_8h from int_market_minutes
        where venue = 'binance' and symbol = 'LPTUSDT' order by 1
    """
    assert warehouse.rows(intervals, [AT_MS]) == [(0, 4.0, 0.0002), (3, 4.0, 0.0002), (5, 4.0, 0.0002), (6, None, None)]


def test_source_freshness_is_the_age_of_the_newest_built_minute(warehouse: Warehouse) -> None:
    now = int(time.time() * 1000)
    with warehouse.connect() as db:
        db.execute("insert into pipeline.loads values ('1', 'f', ?, ?, 1, 1)", [now, now])
    assert warehouse.dbt("source", "freshness") == {"pass": 1}
    with warehouse.connect() as db:
        db.execute("update pipeline.loads set max_tick_ms = max_tick_ms - 3600000")
    assert warehouse.dbt("source", "freshness", check=False) == {"error": 1}


def test_a_run_asks_once_what_its_window_holds(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next run of the same process asks again. Two models that begin at the same time may both ask."""
    asked: list[str] = []
    execute: Any = DuckDBCursorWrapper.execute

    def note(self: DuckDBCursorWrapper, sql: str, bindings: Any = None) -> Any:
        asked.append(sql)
        return execute(self, sql, bindings)

    monkeypatch.setattr(DuckDBCursorWrapper, "execute", note)
    for at, venue, body in (
        (AT_MS, "binance", [{"symbol": "BTCUSDT", "lastPrice": "100"}]),
        (AT_MS + MINUTE, "bybit", {"result": {"list": [{"symbol": "BTCUSDT", "lastPrice": "100"}]}, "time": AT_MS}),
    ):
        asked.clear()
        staged = ("staged_market_state", "staged_bars", "staged_instruments", "staged_liquidations", "int_rejected")
        warehouse.build([response(at, venue, "perp_tickers", body)], "raw_window", *staged)
        assert 1 <= sum("select distinct venue, endpoint" in sql for sql in asked) <= 2
        assert warehouse.rows("select distinct venue, tick_ms from staged_market_state") == [(venue, at)]
