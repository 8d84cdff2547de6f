"""The premiums' mart on real history, against plain Python; and what builds restate of it."""

import csv
import gzip
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.facts.mart_facts import MINUTE, Warehouse, instrument, market

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
WON = market("upbit:spot:KRW-BTC", "BTC", quote="KRW")
DOLLAR = market("binance:spot:BTCUSDT", "BTC")
TOKEN = market("upbit:spot:KRW-USDT", "USDT", quote="KRW")
NAMES = ("market_id", "venue", "type", "symbol", "base")
COLUMNS = "t, minute_ms, price, reference_price, usd_rate, rate_ms, premium"


def insert_bars(warehouse: Warehouse, closes: dict[int, float], identity: dict[str, Any], at_ms: int) -> None:
    with warehouse.connect() as con:
        con.execute(
            "insert into int_market_bars (minute_ms, close, market_id, venue, type, symbol, base, source, tick_ms) "
            "select unnest(?::bigint[]), unnest(?::double[]), ?, ?, ?, ?, ?, 'recorded', ?",
            [list(closes), list(closes.values()), *(identity[name] for name in NAMES), at_ms],
        )


def build(warehouse: Warehouse, at_ms: int, endpoint: str) -> None:
    """One window of this minute: what it holds decides whether the model runs."""
    with warehouse.connect() as con:
        con.execute("delete from raw_window")
    warehouse.add("raw_window", [{"tick_ms": at_ms, "venue": "upbit", "endpoint": endpoint}])
    warehouse.build([at_ms], "touched_markets", folder="premiums")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def closes_of(file: Path, last_minute: int) -> dict[int, float]:
    """Closes by the start of the last minute of each bar."""
    with gzip.open(file, "rt") as lines:
        return {ms(row["timestamp"]) + last_minute * MINUTE: float(row["close"]) for row in csv.DictReader(lines)}


def daily_rates(file: Path) -> list[tuple[int, float]]:
    """The won's daily rates, known from 15:00 UTC of their day."""
    table = pq.read_table(file, columns=["date", "fx_krw"]).to_pylist()
    found = {int(row["date"].timestamp() * 1000) + 15 * HOUR: row["fx_krw"] for row in table if row["fx_krw"]}
    return sorted(found.items())


def by_hand(won: dict[int, float], dollar: dict[int, float], rates: list[tuple[int, float]]) -> list[tuple[Any, ...]]:
    """Each hour's point: the last minute that both have, at the newest rate before its end."""
    minutes: dict[int, int] = {}
    for minute in sorted(won.keys() & dollar.keys()):
        minutes[minute // HOUR * HOUR] = minute
    points = []
    times = [t for t, _ in rates]
    for hour, minute in sorted(minutes.items()):
        at, rate = rates[bisect_right(times, minute + MINUTE) - 1]
        premium = (won[minute] / rate - dollar[minute]) / dollar[minute] * 100
        points.append((hour, minute, won[minute], dollar[minute], rate, at, pytest.approx(premium, abs=1e-9)))
    return points


@pytest.mark.requirement("kimchi:real")
def test_recorded_history_equals_a_computation_in_plain_python(tmp_path: Path, recordings: Path) -> None:
    """Bars first and the rates later, as a backfill may bring them: the rates restate every hour that they hold in."""
    won = closes_of(recordings / "history/upbit_KRW-BTC_1m_2024-08_2025-08.csv.gz", 0)
    dollar = closes_of(recordings / "history/binance_spot_BTCUSDT_5m_2025-05_08.csv.gz", 4)
    rates = daily_rates(recordings / "history/fx_macro_fred_daily.parquet")
    warehouse = Warehouse(tmp_path)
    warehouse.add("instruments", [instrument(WON, usd_like=False), instrument(DOLLAR)])
    end = max(dollar) // HOUR * HOUR + HOUR
    insert_bars(warehouse, won, WON, end)
    insert_bars(warehouse, dollar, DOLLAR, end)
    build(warehouse, end, "spot_bars")
    assert warehouse.rows("select count(*), count(premium) from premiums")[0][1] == 0
    with warehouse.connect() as con:
        con.execute(
            "insert into int_fx_rates select 'USD/KRW', unnest(?::bigint[]), unnest(?::double[]), 'frankfurter', ?",
            [[t for t, _ in rates], [rate for _, rate in rates], end + MINUTE],
        )
    build(warehouse, end + MINUTE, "fx_daily")
    found = warehouse.rows(f"select {COLUMNS} from premiums order by t")
    expected = by_hand(won, dollar, rates)
    assert found == expected
    premiums = [row[-1] for row in found]
    # 90 days, of which runs of 200 minutes were recorded with holes of 13 hours: an hour in a hole has no point.
    assert len(found) < 0.4 * 90 * 24
    assert {row[0] for row in found} == {minute // HOUR * HOUR for minute in won.keys() & dollar.keys()}
    # The premium of that summer was small and mostly positive.
    assert 0 < mean(premiums) < 2
    assert -3 < min(premiums) < max(premiums) < 5
    # Weekends: the rate of Friday is used, never older than the longest holiday.
    assert max(row[1] + MINUTE - row[5] for row in found) <= 7 * DAY
    print(f"{len(found)} hours, premium mean {mean(premiums):.3f} %, {min(premiums):.3f} to {max(premiums):.3f} %")


def test_a_late_bar_and_a_new_rate_restate_their_hours_alone(tmp_path: Path) -> None:
    start = 1_790_000_000_000 // DAY * DAY
    warehouse = Warehouse(tmp_path)
    warehouse.add(
        "instruments", [instrument(WON, usd_like=False), instrument(DOLLAR), instrument(TOKEN, usd_like=False)]
    )
    warehouse.add(
        "int_fx_rates", [{"pair": "USD/KRW", "t": start, "rate": 1000.0, "source": "dunamu", "tick_ms": start}]
    )
    for identity, level in ((WON, 110_000.0), (DOLLAR, 100.0), (TOKEN, 1000.0)):
        insert_bars(warehouse, {start + n * MINUTE: level for n in range(0, 150)}, identity, start + 150 * MINUTE)
    build(warehouse, start + 150 * MINUTE, "spot_bars")
    point = "(t - ?) // 3600000, (minute_ms - t) // 60000, premium, premium_usdt, tick_ms - ?"
    query = f"select {point} from premiums order by t"
    first = start + 150 * MINUTE
    ten = pytest.approx(10)
    assert warehouse.rows(query, start, first) == [(0, 59, ten, ten, 0), (1, 59, ten, ten, 0), (2, 29, ten, ten, 0)]

    # A bar of the first hour that arrives later, of the reference alone; the token has none in that minute.
    late = start + 152 * MINUTE
    with warehouse.connect() as con:
        con.execute("delete from int_market_bars where minute_ms = ?", [start + 59 * MINUTE])
    insert_bars(warehouse, {start + 59 * MINUTE: 111_000.0}, WON, late)
    insert_bars(warehouse, {start + 59 * MINUTE: 100.0}, DOLLAR, late)
    build(warehouse, late, "spot_bars")
    moved = late - first
    assert warehouse.rows(query, start, first) == [
        (0, 59, pytest.approx(11), None, moved), (1, 59, ten, ten, 0), (2, 29, ten, ten, moved),
    ]  # fmt: skip

    # A rate that has held since the middle of the second hour.
    newest = start + 153 * MINUTE
    rate = {"pair": "USD/KRW", "t": start + 90 * MINUTE, "rate": 1100.0, "source": "dunamu", "tick_ms": newest}
    warehouse.add("int_fx_rates", [rate])
    build(warehouse, newest, "fx_rates")
    zero, moved_again = pytest.approx(0, abs=1e-9), newest - first
    assert warehouse.rows(query, start, first) == [
        (0, 59, pytest.approx(11), None, moved), (1, 59, zero, ten, moved_again), (2, 29, zero, ten, moved_again),
    ]  # fmt: skip
    before = warehouse.rows("from premiums order by all")
    build(warehouse, newest, "fx_rates")
    assert warehouse.rows("from premiums order by all") == before


def test_history_of_hours_and_days_fills_unrecorded_time(tmp_path: Path) -> None:
    """A day's closes are those of its last hour; a recorded minute is worth more than history."""
    start = 1_790_000_000_000 // DAY * DAY
    warehouse = Warehouse(tmp_path)
    warehouse.add("instruments", [instrument(WON, usd_like=False), instrument(DOLLAR)])
    warehouse.add(
        "int_fx_rates", [{"pair": "USD/KRW", "t": start, "rate": 1000.0, "source": "dunamu", "tick_ms": start}]
    )
    now = start + 2 * DAY
    insert_bars(warehouse, {start + DAY: 104_000.0}, WON, now)
    insert_bars(warehouse, {start + DAY: 100.0}, DOLLAR, now)
    build(warehouse, now, "spot_bars")
    at_ms = now + MINUTE
    for identity, closes in ((WON, (101_000.0, 102_000.0, 103_000.0)), (DOLLAR, (100.0, 100.0, 100.0))):
        for step, t, close in zip(("1d", "1h", "1h"), (start, start + 5 * HOUR, start + DAY), closes, strict=True):
            row = {"market_id": identity["market_id"], "step": step, "t": t, "close": close, "source": "backfilled"}
            warehouse.add("int_history_bars", [row | {"tick_ms": at_ms, "base": "BTC"}])
    build(warehouse, at_ms, "history_spot_bars")
    assert warehouse.rows("select (t - ?) // 3600000, round(premium, 6), source from premiums order by t", start) == [
        (5, 2, "history"), (23, 1, "history"), (24, 4, "minutes"),
    ]  # fmt: skip
