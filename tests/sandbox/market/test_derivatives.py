"""Funding, open interest and liquidations of the simulated market."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given

from sandbox.market.derivatives import funding_hours, funding_rate, liquidations, open_interest
from sandbox.market.listings import funding_cap
from sandbox.market.universe import MINUTE_MS
from tests.support.small_market import ALL, HOURS, MARKET, SMALL, quick


@quick
@given(HOURS)
def test_funding_is_clamped_and_often_on_the_baseline(hour: int) -> None:
    perps = ALL[SMALL.perp > 0]
    minutes = np.array([hour * 60])
    hours = funding_hours(MARKET, perps, minutes)
    rate = funding_rate(MARKET, perps, minutes, hours)
    assert np.isin(hours, (1, 2, 4, 8)).all()
    assert (np.abs(rate) <= [[funding_cap(SMALL.listings[row].venue)] for row in perps]).all()
    on_baseline = np.isclose(rate, 0.0001 * hours / 8, rtol=0, atol=1e-12).mean()
    assert 0.1 < on_baseline < 0.98


def test_funding_is_spread_as_recorded_funding_is(recordings: Path) -> None:
    """Rates of 8 hours over ninety days: how often they are negative, how far they reach, and that coins differ."""
    history = f"{recordings}/history/0xknx_funding_rates.parquet"
    with duckdb.connect() as con:
        negative = con.execute(f"select avg((funding_rate < 0)::int) from '{history}' group by venue").fetchall()
        bitcoin = con.execute(
            "select quantile_cont(abs(funding_rate), [0.5, 0.95, 0.99]) "
            f"from '{recordings}/history/mrezende_funding.parquet'"
        ).fetchall()[0][0]
    perps = ALL[SMALL.perp > 0]
    minutes = 29_300_160 + np.arange(0, 90 * 1440, 480)
    hours = np.where(funding_hours(MARKET, perps, minutes) > 0, 8, 0)
    rates = funding_rate(MARKET, perps, minutes, hours)
    shares = [share for (share,) in negative]
    assert 0.7 * min(shares) < (rates < 0).mean() < max(shares)
    assert 0.2 < np.isclose(rates, 0.0001, rtol=0, atol=1e-12).mean() < 0.6
    for wanted, found in zip(bitcoin, np.quantile(np.abs(rates), [0.5, 0.95, 0.99]), strict=True):
        assert wanted / 3 < found < wanted * 3
    of_each = (rates < 0).mean(axis=1)
    assert np.quantile(of_each, 0.9) - np.quantile(of_each, 0.1) > 0.15
    changes = (np.sign(rates[:, 1:]) != np.sign(rates[:, :-1])).mean()
    assert 0.01 < changes < 0.2, "it drifts, and does not jump between signs"


def test_funding_intervals_change_at_their_date() -> None:
    changing = [n for n in ALL if len(SMALL.listings[n].intervals) > 1]
    assert changing
    for row in changing:
        for (_, before), (since, after) in zip(
            SMALL.listings[row].intervals, SMALL.listings[row].intervals[1:], strict=False
        ):
            minute = since // MINUTE_MS
            found = funding_hours(MARKET, np.array([row]), np.array([minute - 1, minute]))[0]
            assert found.tolist() == [before, after]


@quick
@given(HOURS)
def test_open_interest_moves_slowly_and_only_where_there_is_some(hour: int) -> None:
    minutes = np.arange(hour * 60, hour * 60 + 60)
    held = open_interest(MARKET, ALL, minutes)
    spot = (SMALL.perp + SMALL.future) == 0
    assert (held[spot] == 0).all()
    both = (held[:, :-1] > 0) & (held[:, 1:] > 0)
    lot = 1.0 / SMALL.lot_scale[:, None]
    assert (np.abs(held[:, 1:] - held[:, :-1])[both] <= (0.01 * held[:, :-1] + 2 * lot)[both]).all()


def test_open_interest_moves_with_price_and_activity_as_recorded_does(recordings: Path) -> None:
    """Hours of half a year, BTC and ETH: how far it moves, that it rises with the price and moves most in wild hours;
    and that it is no copy of the premium."""
    hours = 29_300_160 + np.arange(0, 180 * 1440, 60)
    for coin in ("BTC", "ETH"):
        with duckdb.connect() as con:
            rows = con.execute(
                f"select ln(oi) as held, ln(close) as price from read_csv('{recordings}/history/binance_{coin}_oi_5m_"
                f"202512-202606.csv.gz') join read_csv('{recordings}/history/okx_{coin}_1h_2023-2026.csv.gz') "
                "on t = ts + 3600000 where oi > 0 order by t"
            ).fetchnumpy()
        row = np.array([SMALL.row["binance", "perp", f"{coin}USDT"]])
        held, price = np.log(open_interest(MARKET, row, hours))[0], MARKET.price_logs(row, hours)[0]
        for step, most in ((1, 4.0), (24, 4.0)):
            real, real_moved = (np.diff(rows[name][::step]) for name in ("held", "price"))
            found, moved = np.diff(held[::step]), np.diff(price[::step])
            assert real.std() / 2 < found.std() < real.std() * 2
            assert 0 < np.corrcoef(found, moved)[0, 1] < most * np.corrcoef(real, real_moved)[0, 1]
        together = np.corrcoef(np.abs(np.diff(rows["held"])), np.abs(np.diff(rows["price"])))[0, 1]
        assert together / 2 < np.corrcoef(np.abs(np.diff(held)), np.abs(np.diff(price)))[0, 1] < together * 1.5
    perps = ALL[(SMALL.perp > 0) & (SMALL.listed < hours[0]) & (SMALL.delisted > hours[-1])]
    days = hours[::24]
    levels, premiums = np.log(open_interest(MARKET, perps, days)), MARKET.premium(perps, days)
    alike = [np.corrcoef(levels[n], premiums[n])[0, 1] for n in range(len(perps))]
    assert abs(np.mean(alike)) < 0.1


def test_liquidations_come_in_cascades_as_recorded_ones_do(recordings: Path) -> None:
    """Forced orders per minute: bursts far beyond independent events, more and larger ones in and after large moves."""
    bursts, ratios = [], []
    for day in ("2024-08-17", "2025-06-23"):
        with duckdb.connect() as con:
            events = con.execute(
                f"select column10 // 60000 as minute, column11 as usd from read_csv('{recordings}/binance/"
                f"liquidations_forceOrder_{day}.csv', header = false)"
            ).fetchnumpy()
        counts = np.bincount((events["minute"] - events["minute"].min()).astype(np.int64))
        bursts.append(counts.var() / counts.mean())
        ratios.append(np.quantile(events["usd"], 0.99) / np.quantile(events["usd"], 0.5))
    rows = SMALL.rows("binance", "perp")
    starts = [29_300_160 + day * 1440 for day in range(20, 200, 15)]
    days = [liquidations(MARKET, rows, start + np.arange(1440)) for start in starts]
    at = [one.ts // MINUTE_MS - start for one, start in zip(days, starts, strict=True)]
    counts = np.stack([np.bincount(one, minlength=1440) for one in at])
    found = [one.size * one.price * MARKET.quote_usd[one.row] for one in days]
    paths = [MARKET.asset_logs(np.unique(SMALL.coin[rows]), start + np.arange(1441)).mean(axis=0) for start in starts]
    moved = np.diff(np.stack(paths), axis=1)
    wild = np.abs(moved) > np.quantile(np.abs(moved), 0.95)
    after = np.roll(wild, 1, axis=1) & ~wild
    assert counts[wild].mean() > 3 * counts[~wild].mean()
    assert counts[after].mean() > 1.5 * counts[~wild & ~after].mean()
    inside = np.concatenate([wild[n, one] for n, one in enumerate(at)])
    fell = np.concatenate([moved[n, one] < 0 for n, one in enumerate(at)])
    usd, longs = np.concatenate(found), np.concatenate([one.long for one in days])
    assert usd[inside].mean() > 1.3 * usd[~inside].mean()
    assert (longs == fell)[inside].mean() > 0.75
    found_bursts = (counts.var(axis=1) / counts.mean(axis=1)).tolist()
    found_ratios = [np.quantile(one, 0.99) / np.quantile(one, 0.5) for one in found]
    most = max(np.unique(one.row * 1440 + n, return_counts=True)[1].max() for one, n in zip(days, at, strict=True))
    assert np.median(bursts) / 4 < np.median(found_bursts) < np.median(bursts) * 4
    assert np.median(ratios) / 3 < np.median(found_ratios) < np.median(ratios) * 3
    assert most >= 20, "recorded: 20 of one market in a minute, at one event a second at most"


def test_liquidations_follow_the_losing_side_and_the_size_of_the_move() -> None:
    rows = ALL[(SMALL.perp > 0) & (SMALL.volume_usd > 1e8)]
    minutes = np.arange(29_300_000, 29_300_000 + 1440)
    logs = MARKET.price_logs(rows, np.append(minutes, minutes[-1] + 1))
    moves = dict(zip(rows.tolist(), np.diff(logs, axis=1), strict=True))
    found = liquidations(MARKET, rows, minutes)
    assert len(found.ts) > 100
    assert (np.diff(found.ts) >= 0).all()
    assert (found.size > 0).all()
    at = (found.ts // MINUTE_MS - minutes[0]).tolist()
    assert min(at) >= 0
    assert max(at) < len(minutes)
    move = np.array([moves[row][n] for row, n in zip(found.row.tolist(), at, strict=True)])
    assert ((move < 0) == found.long).mean() > 0.8
    everywhere = np.abs(np.array(list(moves.values()))).mean()
    assert np.abs(move).mean() > 1.2 * everywhere


@pytest.mark.parametrize("offset", [0, 17])
def test_liquidations_of_one_market_equal_those_among_all(offset: int) -> None:
    minutes = np.arange(29_300_000, 29_300_000 + 300)
    row = SMALL.row["bybit", "perp", "ETHUSDT"] if offset == 0 else int(ALL[SMALL.perp > 0][offset])
    alone = liquidations(MARKET, np.array([row]), minutes)
    among = liquidations(MARKET, ALL, minutes)
    mine = among.row == row
    for name in ("ts", "long", "size", "price"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(among, name)[mine])
