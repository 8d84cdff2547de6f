"""Option chains of the simulated market: no arbitrage in them, the same from any call, listed as venues list them."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

from sandbox.derived.chain import YEAR_MS, Chain, chain, expiries
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.noise import Floats, Ints
from sandbox.market.universe import build_universe
from sandbox.market.world import World, build_world

DAY = 1440
NOW = ANCHOR_MS // 60_000 + 754
MINUTES = (NOW, NOW - 900 * DAY, NOW + 40 * DAY + 333)


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(build_universe("small"), 1, Clock(fixed_ms=ANCHOR_MS))


def calls(found: Chain, expiry: int) -> Ints:
    order = np.argsort(found.strike)
    chosen: Ints = order[found.call[order] & (found.expiry_ms[order] == expiry)]
    return chosen


@pytest.mark.parametrize("minute", MINUTES)
@pytest.mark.parametrize("coin", ["BTC", "ETH"])
def test_prices_admit_no_arbitrage(world: World, coin: str, minute: int) -> None:
    found = chain(world, "any", coin, minute, 1000.0)
    for expiry in np.unique(found.expiry_ms).tolist():
        at = calls(found, expiry)
        slope = np.diff(found.price[at]) / np.diff(found.strike[at])
        assert ((slope <= 1e-12) & (slope >= -1 - 1e-12)).all(), "a call spread is worth between nothing and its width"
        assert (np.diff(slope) >= -1e-9).all(), "a butterfly is worth something"
        puts = {
            strike: n for n, strike in enumerate(found.strike) if not found.call[n] and found.expiry_ms[n] == expiry
        }
        for n in at.tolist():
            put = puts[found.strike[n]]
            gap = found.price[n] - found.price[put]
            assert gap == pytest.approx(found.forward[n] - found.strike[n], abs=1e-6 * found.index)
            assert found.mark_iv[n] == found.mark_iv[put]
    # Total variance at the money grows with time.
    years = (found.expiry_ms - minute * 60_000) / YEAR_MS
    order = np.argsort(years)
    assert (np.diff((found.atm_iv**2 * years)[order]) >= -1e-12).all()
    assert 0.2 < float(found.atm_iv.min()) < float(found.atm_iv.max()) < 1.6


def smile(moneyness: Floats, volatility: Floats, at_the_money: float, years: float) -> tuple[float, float]:
    """(curvature, skew): the second and first coefficient of volatility by moneyness, in units of one deviation."""
    deviations = moneyness / (at_the_money * years**0.5)
    near = np.abs(deviations) < 1.6
    curvature, skew, _ = np.polyfit(deviations[near], volatility[near] / at_the_money, 2)
    return float(curvature), float(skew)


def test_smiles_are_curved_and_skewed_as_a_recorded_chain_is(world: World, recordings: Path) -> None:
    """Deribit's options on BTC of one day: puts cost more volatility than calls, and both more than the middle."""
    file = f"{recordings}/deribit/option_chain_btc_2025-12-05.csv"
    with duckdb.connect() as con:
        rows = con.execute(
            "select T_years, list(ln(strike / S0)), list(mark_iv / 100), arg_min(mark_iv, abs(ln(strike / S0))) / 100 "
            f"from '{file}' group by 1"
        ).fetchall()
    recorded = [smile(np.array(x), np.array(iv), middle, years) for years, x, iv, middle in rows]
    simulated = []
    for minute in range(NOW - 800 * DAY, NOW, 50 * DAY):
        found = chain(world, "any", "BTC", minute, 1000.0)
        for expiry in np.unique(found.expiry_ms)[::3].tolist():
            mine, years = calls(found, expiry), (expiry - minute * 60_000) / YEAR_MS
            moneyness = np.log(found.strike[mine] / found.forward[mine])
            simulated.append(smile(moneyness, found.mark_iv[mine], float(found.atm_iv[mine][0]), years))
    for wanted, got in zip(np.median(recorded, axis=0), np.median(simulated, axis=0), strict=True):
        assert min(wanted / 2, wanted * 2) < got < max(wanted / 2, wanted * 2)


def test_expiries_are_days_weeks_months_and_quarters_at_eight() -> None:
    found = [(datetime.fromtimestamp(at / 1000, UTC), since, step) for at, since, step in expiries(NOW * 60_000)]
    assert all((at.hour, at.minute) == (8, 0) for at, _, _ in found)
    assert [at for at, _, _ in found] == sorted(at for at, _, _ in found)
    assert all(at.weekday() == 4 for at, _, step in found if step > 0.01)
    assert {at.month for at, _, step in found if step == 0.1} <= {3, 6, 9, 12}
    assert all(since <= NOW * 60_000 < at.timestamp() * 1000 for at, since, _ in found)
    assert len(found) >= 9


def test_listings_last_and_have_the_venues_share_of_volume(world: World) -> None:
    first, later = chain(world, "any", "BTC", NOW, 30_000.0), chain(world, "any", "BTC", NOW + DAY, 30_000.0)
    listed, still = ({*zip(one.expiry_ms.tolist(), one.strike.tolist(), one.call.tolist(), strict=True)}
                     for one in (first, later))  # fmt: skip
    alive = {one for one in listed if one[0] > (NOW + DAY) * 60_000}
    near = {one for one in alive if abs(np.log(one[1] / first.index)) < 0.1}
    assert near <= still
    assert len(alive - still) < 0.1 * len(alive)
    assert first.open_interest.sum() == pytest.approx(30_000.0)
    assert (first.open_interest >= 0).all()
    assert (first.volume_24h <= first.open_interest).all()
    assert np.isnan(first.bid_iv).any()
    bid = np.nan_to_num(first.bid_iv)
    assert ((bid < first.mark_iv) & (first.mark_iv < first.ask_iv)).all()
    other = chain(world, "another", "BTC", NOW, 1_000.0)
    assert (other.mark_iv == first.mark_iv).all()
    assert other.open_interest.sum() == pytest.approx(1_000.0)


def test_a_chain_is_the_same_whatever_was_asked_before(world: World) -> None:
    fresh = build_world(build_universe("small"), 1, Clock(fixed_ms=ANCHOR_MS))
    for minute in reversed(MINUTES):
        one, other = chain(world, "any", "ETH", minute, 10.0), chain(fresh, "any", "ETH", minute, 10.0)
        assert (one.strike == other.strike).all()
        assert (one.price == other.price).all()
        assert (one.open_interest == other.open_interest).all()
