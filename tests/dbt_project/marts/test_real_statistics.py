"""Statistics on real history, against pandas written from the formulas: 538 perps of Binance, 800 days, settlements.

The recorded bodies go through staging as a backfill lands them. What the recordings lack is said where it is made up.
"""

import csv
import io
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import percentileofscore

from orchestration.warehouse.writer import note_settings
from tests.support.pipeline.dbt_project import PROJECT
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded

HOUR, DAY = 3_600_000, 86_400_000
NOW = 1_773_966_000_000  # 2026-03-20 00:20 UTC, after the newest recorded settlement
REPORTED = NOW - 15 * MINUTE  # when the history was requested
TODAY, THIS_HOUR = NOW // DAY * DAY, NOW // HOUR * HOUR
DAYS = [TODAY - back * DAY for back in range(366, 0, -1)]
FUNDING = ("funding_reference", "funding_percentiles", "funding_persistence")
Rows = list[dict[str, str]]


def recorded_tables(file: Path) -> dict[str, Rows]:
    """Rows of each CSV file of an archive, by the symbol that names it."""
    with tarfile.open(file) as archive:
        return {
            Path(member.name).stem: list(csv.DictReader(io.TextIOWrapper(data, "utf-8")))
            for member in archive
            if (data := archive.extractfile(member))
        }


def seed(name: str) -> list[dict[str, str]]:
    with (PROJECT / f"seeds/{name}.csv").open() as file:
        return list(csv.DictReader(file))


def canonical() -> dict[str, tuple[str, float]]:
    """Binance's tokens that mean another coin or several, as the seed says."""
    rows = (row for row in seed("symbols") if row["venue"] in ("*", "binance") and row["market"] in ("", "perp"))
    return {row["symbol_base"]: (row["base"], float(row["multiplier"])) for row in rows}


class Past:
    """Binance's responses (days of 538 perps and their last 200 settlements) and the warehouse built from them."""

    def __init__(self, history: Path, warehouse: Warehouse) -> None:
        self.days = recorded_tables(history / "binance_perps_1d_all538.tar.gz")
        self.paid = recorded_tables(history / "binance_perps_funding_all538.tar.gz")
        self.warehouse = warehouse
        rows = []
        for symbol, bars in self.days.items():
            # The archive leaves out what takers bought; no statistic here looks at it.
            reported = [
                [int(bar["timestamp"]), bar["open"], bar["high"], bar["low"], bar["close"], bar["volume"],
                 int(bar["close_time"]), bar["quote_volume"], int(bar["trades"]), "0", "0", "0"]
                for bar in bars
            ]  # fmt: skip
            rows.append(response(REPORTED, "binance", "history_perp_bars", reported, key=symbol))
        for number, (symbol, payments) in enumerate(self.paid.items()):
            settled = [
                {"symbol": symbol, "fundingTime": int(row["timestamp"]), "fundingRate": row["funding_rate"]}
                for row in payments
            ]
            rows.append(response(REPORTED, "binance", "history_settlements", settled, key=symbol))
            # Hours that a settlement can stand for are those that bars are known of. The archive has none of hours:
            # made up, a week for all and a month for every fifth.
            hours = range(THIS_HOUR - (30 if number % 5 == 0 else 7) * DAY, THIS_HOUR, HOUR)
            bars_of_hours = [
                [t, "1", "1", "1", "1", "1", t + HOUR - 1, "1", 1, "0", "0", "0"] for t in hours if symbol in self.days
            ]
            rows.append(response(REPORTED + MINUTE, "binance", "history_perp_bars", bars_of_hours, key=symbol))
        marts = ("series", "gaps", "indices", "funding", "live/live_markets.sql")
        both = ("path:models/intermediate", *(f"path:models/marts/{folder}" for folder in marts))
        warehouse.build(rows, *both)
        self.at(NOW)
        ticker = {"symbol": "BTCUSDT", "lastPrice": "70000", "quoteVolume": "1000", "closeTime": NOW}
        warehouse.build([response(NOW, "binance", "perp_tickers", [ticker])], *both)

    def at(self, now_ms: int) -> None:
        """The next window is that of an hour's statistics."""
        with self.warehouse.connect() as con:
            note_settings(con, {"triggers": "every_1h every_5m", "as_of_ms": str(now_ms)})

    def write(self, sql: str) -> None:
        with self.warehouse.connect() as con:
            con.execute(sql)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory, recordings: Path) -> Past:
    return Past(recordings / "history", seeded(tmp_path_factory.mktemp("warehouse")))


def daily_closes(past: Past) -> pd.DataFrame:
    """One row per day and perp: coin, price of one coin, turnover."""
    tokens = canonical()
    rows = []
    for symbol, bars in past.days.items():
        base, multiplier = tokens.get(symbol.removesuffix("USDT"), (symbol.removesuffix("USDT"), 1.0))
        rows += [
            (int(bar["timestamp"]), symbol, base, float(bar["close"]) / multiplier, float(bar["quote_volume"]))
            for bar in bars
        ]
    return pd.DataFrame(rows, columns=["t", "symbol", "base", "price", "usd"])


def altcoin_season(past: Past) -> tuple[dict[int, Any], dict[int, list[tuple[Any, ...]]]]:
    """The index of each day, and its coins as (rank, base, symbol, close, close 90 days before), by the formula."""
    bars = daily_closes(past)
    weighted = bars.assign(weight=bars.usd, product=bars.price * bars.usd)
    of_day = weighted.groupby(["t", "base"]).agg(
        product=("product", "sum"), weight=("weight", "sum"), usd=("usd", "sum"), mean=("price", "mean")
    )
    price = (of_day["product"] / of_day["weight"]).where(of_day["weight"] > 0, of_day["mean"])
    calendar = range(int(bars.t.min()), int(bars.t.max()) + DAY, DAY)
    closes = price.unstack("base").reindex(calendar)
    volume = of_day["usd"].unstack("base").reindex(calendar)
    ranked_by = volume.rolling(30, min_periods=1).mean()
    left_out = {row["base"] for row in seed("index_exclusions")} | {"BTC"}
    left_out |= {row["quote"] for row in seed("quotes") if row["usd_like"] == "true"}
    symbols = bars.sort_values("usd").groupby(["t", "base"])["symbol"].last()
    values: dict[int, Any] = {}
    coins: dict[int, list[tuple[Any, ...]]] = {}
    for day in DAYS:
        traded = ranked_by.loc[day][closes.loc[day].notna() & (ranked_by.loc[day] > 0)].drop(left_out, errors="ignore")
        top = traded.sort_values(ascending=False, kind="stable").index[:50]
        then = closes.shift(90).loc[day]
        returns = closes.loc[day] / then - 1
        known = [base for base in top if not np.isnan(returns[base])]
        beat = sum(bool(returns[base] > returns["BTC"]) for base in known)
        values[day] = (100 * beat / len(known) if 5 * len(known) >= len(top) else None, len(known), beat, len(traded))
        coins[day] = [
            (rank + 1, base, symbols[day, base], closes.loc[day, base], None if np.isnan(then[base]) else then[base],
             None if np.isnan(returns[base]) else returns[base])
            for rank, base in enumerate(top)
        ]  # fmt: skip
    return values, coins


@pytest.mark.requirement("altcoin:real")
def test_altcoin_season_of_a_real_year(past: Past) -> None:
    values, coins = altcoin_season(past)
    found = past.warehouse.rows(
        "select t, value, n_coins, n_beat_btc, n_universe, final from altcoin_season order by t"
    )
    assert [row[0] for row in found] == DAYS
    assert {row[0]: row[1:5] for row in found} == values
    assert all(row[5] for row in found)
    listed = past.warehouse.rows(
        "select t, rank, base, symbol, close, close_90d, return_90d from altcoin_season_coins where rank is not null "
        "order by t, rank"
    )
    reported: dict[int, list[tuple[Any, ...]]] = {day: [] for day in DAYS}
    for day, *coin in listed:
        reported[day].append(tuple(coin))
    assert reported == coins
    # Sense: a year has both moods in it, young coins are named, and what stands for gold is no altcoin.
    known = [value for value, *_ in values.values()]
    assert min(known) < 25 < 50 < max(known)
    reasons = past.warehouse.rows(
        "select distinct excluded_reason, base = 'PAXG' from altcoin_season_coins where excluded_reason is not null"
    )
    assert {("young", False), ("benchmark", False), ("gold", True)} <= set(reasons)
    print(f"altcoin season over {len(known)} days: {min(known):.0f} to {max(known):.0f}, now {known[-1]:.1f}")


@pytest.mark.requirement("series:candles")
def test_candles_of_real_days(past: Past) -> None:
    """Of each perp and day what the archive says of it, per one coin."""
    tokens = canonical()
    wanted = {}
    for symbol, bars in past.days.items():
        _, multiplier = tokens.get(symbol.removesuffix("USDT"), ("", 1.0))
        for bar in bars:
            prices = [float(bar[name]) / multiplier for name in ("open", "high", "low", "close")]
            wanted[f"binance:perp:{symbol}", int(bar["timestamp"])] = (*prices, 1440, "backfilled")
    rows = past.warehouse.rows(
        "select market_id, t, open, high, low, close, candle_n, source from series_market_1d where open is not null"
    )
    found = {(market, t): tuple(values) for market, t, *values in rows}
    assert len(found) == len(rows)
    assert {key: found.get(key) for key in wanted} == wanted
    assert len(wanted) > 100_000
    assert all(low <= min(first, last) <= max(first, last) <= high for first, high, low, last, *_ in found.values())


def hourly_rates(payments: Rows, hours: range) -> list[float]:
    """Of each hour the rate, on 8 hours, of the payment that closes an interval in which the hour lies."""
    settled = [(int(row["timestamp"]) // MINUTE * MINUTE, float(row["funding_rate"])) for row in payments]
    intervals = [None, *(after[0] - before[0] for before, after in pairwise(settled))]
    rates = []
    for hour in hours:
        at = next((n for n, (ms, _) in enumerate(settled) if ms > hour), None)
        if at is None or (width := intervals[at]) is None or width > DAY or settled[at][0] - width >= hour + HOUR:
            continue
        rates.append(settled[at][1] * 8 / round(width / HOUR, 2))
    return rates


def persistence(payments: Rows, days: int) -> dict[str, Any]:
    """The run that ends with the newest payment of the window, payment by payment backwards."""
    settled = [(int(row["timestamp"]) // MINUTE * MINUTE, float(row["funding_rate"])) for row in payments]
    hours = [None, *(round((b[0] - a[0]) / HOUR, 2) for a, b in pairwise(settled))]
    known = [(ms, rate, h) for (ms, rate), h in zip(settled, hours, strict=True) if NOW - days * DAY < ms <= NOW]
    newest, rate, interval = known[-1]
    assert interval is not None
    streak, reversal = 0.0, None
    for at in range(len(known) - 1, -1, -1):
        if known[at][1] * rate <= 0:
            if known[at][1] * rate < 0:
                reversal = known[at + 1][0]
            break
        streak += known[at][2] or 0.0
        if (known[at][2] or 0) > 24 or known[at][2] is None:
            break
    sign = int(np.sign(rate))
    return {
        "latest_rate": rate, "latest_ms": newest, "interval_h": round(interval), "sign": sign,
        "stale": NOW - newest > 1.5 * interval * HOUR, "current_streak_h": streak if sign else 0.0,
        "last_reversal_ms": reversal if sign else None, "n_payments": len(known),
    }  # fmt: skip


@pytest.mark.requirement("funding-percentiles:real", "funding-persistence:real")
def test_funding_of_538_perps(past: Past) -> None:
    """All of them, 50 at a time, because the tables hold the 50 with the highest open interest."""
    symbols = sorted(past.paid)
    intervals, ranked = set(), 0
    for start in range(0, len(symbols), 50):
        chosen = symbols[start : start + 50]
        live = {symbol: latest_8h(past.paid[symbol]) for symbol in chosen}
        held = ", ".join(
            f"('binance:perp:{symbol}', 'binance', 'perp', '{symbol}', '{symbol}', false, true, true, "
            f"{rate!r}, {NOW}, {1e9 - n})"
            for n, (symbol, rate) in enumerate(live.items())
        )
        past.write(
            "delete from live_markets; insert into live_markets (market_id, venue, type, symbol, base, hip3, listed, "
            f"counted, funding, funding_ms, oi_usd) values {held}"
        )
        past.warehouse.dbt("run", "--select", *FUNDING)
        for window, days in (("7d", 7), ("30d", 30)):
            ranked += compare_percentiles(past, symbols, live, window, days)
            query = (
                "select symbol, latest_rate, latest_ms, interval_h, sign, stale, current_streak_h, last_reversal_ms, "
                "n_payments from funding_persistence where lookback = ? order by symbol"
            )
            for symbol, *found in past.warehouse.rows(query, [window]):
                expected = persistence(past.paid[symbol], days)
                names = ("latest_rate", "latest_ms", "interval_h", "sign", "stale", "current_streak_h",
                         "last_reversal_ms", "n_payments")  # fmt: skip
                assert dict(zip(names, found, strict=True)) == expected, (symbol, window)
                intervals.add(found[2])
            assert past.warehouse.rows("select count(*) from funding_persistence where lookback = ?", [window]) == [
                (len(chosen),)
            ]
    assert intervals == {1, 4, 8}
    assert ranked > 538
    print(f"{len(symbols)} perps with intervals of {sorted(intervals)} hours, {ranked} percentiles")


def latest_8h(payments: Rows) -> float:
    """The newest payment on 8 hours, which stands for the live rate: quotes of that moment were not recorded."""
    (before, _), (after, rate) = [(int(row["timestamp"]), float(row["funding_rate"])) for row in payments[-2:]]
    return rate * 8 / round((after // MINUTE - before // MINUTE) / 60, 2)


def compare_percentiles(past: Past, symbols: list[str], live: dict[str, float], window: str, days: int) -> int:
    """Each perp's percentile and quantiles against numpy's and scipy's; returns how many were ranked."""
    query = (
        "select symbol, comparison_funding, reference_count, expected_count, row_state, percentile, median_funding, "
        "p10_funding, p90_funding from funding_percentiles where lookback = ? order by rank"
    )
    found = past.warehouse.rows(query, [window])
    assert [row[0] for row in found] == list(live)
    ranked = 0
    for symbol, compared, count, expected, state, percentile, *quantiles in found:
        # Hours without any bar (made up above) have no row of their own, but for a settlement's last.
        full = symbols.index(symbol) % 5 == 0 or days == 7
        whole = hourly_rates(past.paid[symbol], range(THIS_HOUR - days * DAY, THIS_HOUR, HOUR))
        assert (compared, expected) == (live[symbol], days * 24)
        if not full:
            assert count <= len(whole)
            continue
        assert count == len(whole), symbol
        assert state == ("Ranked" if count / expected >= 0.5 else "InsufficientHistory")
        rates = np.array(whole)
        assert quantiles == pytest.approx(list(np.quantile(rates, [0.5, 0.1, 0.9])), rel=1e-12, abs=1e-18)
        if state == "Ranked":
            below, equal = int((rates < compared).sum()), int((rates == compared).sum())
            assert percentile == 100 * (below + equal / 2) / count
            assert percentile == pytest.approx(percentileofscore(rates, compared, kind="mean"), rel=1e-12)
            ranked += 1
        else:
            assert percentile is None
    return ranked


def test_days_that_are_written_do_not_change(past: Past) -> None:
    """Late and wrong data for every day, arriving after the days were written: no value changes."""
    tables = ("altcoin_season", "altcoin_season_coins", "fear_greed")
    before = past.warehouse.snapshot(tables)
    past.write("update series_base_1d set price = price * (1 + hash(base) % 100), volume_usd = hash(t, base)")
    past.write("update series_market_1d set funding_8h = 1, oi_usd = hash(market_id), liq_long_usd = 5")
    past.warehouse.dbt("run", "--select", "path:models/marts/indices")
    after = past.warehouse.snapshot(tables)
    assert after["altcoin_season"] == before["altcoin_season"]
    assert after["altcoin_season_coins"] == before["altcoin_season_coins"]
    columns = [name for name, *_ in past.warehouse.rows("describe fear_greed")]
    final = columns.index("final")
    assert [row for row in after["fear_greed"] if row[final]] == [row for row in before["fear_greed"] if row[final]]
    assert after["fear_greed"] != before["fear_greed"], "the day under way is provisional"
