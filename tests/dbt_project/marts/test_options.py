"""Option analytics on Deribit's recorded chains, its own volatilities and deltas and the rest by brute force, and on a
recorded minute of all venues' simulated chains."""

import csv
import gzip
import importlib.util
import json
import re
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from ingest.venues.binance import BINANCE
from ingest.venues.bybit import BYBIT
from ingest.venues.deribit import DERIBIT
from ingest.venues.okx import OKX
from sandbox.derived.chain import chain
from sandbox.market.listing import ANCHOR_MS
from sandbox.venues import deribit
from sandbox.venues.binance import options as binance_options
from sandbox.venues.bybit import options as bybit_options
from sandbox.venues.okx import options as okx_options
from tests.support.pipeline.dbt_project import PROJECT
from tests.support.pipeline.venue_minute import recorded_minute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded

MODELS = ("raw_window", "staged_options", "int_option_snapshots", "int_option_implied", "int_option_smiles",
          "path:models/marts/options")  # fmt: skip
NOW = ANCHOR_MS + 7 * 3_600_000 + 2_500
HELD = {
    "deribit": deribit.HELD,
    "deribit linear": deribit.HELD_LINEAR,
    "okx": {family.partition("-")[0]: held for family, (_, held) in okx_options.FAMILIES.items()},
    "binance": binance_options.HELD,
    "bybit": bybit_options.HELD,
}
"""Coins that the simulated options of each venue hold."""
YEAR_MS, DAY_MS = 365 * 86_400_000, 86_400_000
NAME = re.compile(r"BTC-(\d+[A-Z]{3}\d\d)-(\d+)-([CP])")


class Option(NamedTuple):
    """An option as the venue recorded it; volatility a fraction, its delta where the recording has it."""

    instrument: str
    expiry_ms: int
    strike: float
    call: bool
    forward: float
    price: float
    iv: float
    held: float
    traded: float
    delta: float | None


def option(name: str, **reported: float | None) -> Option:
    found = NAME.fullmatch(name)
    assert found is not None
    expiry_ms = int(datetime.strptime(found[1] + " 08 +0000", "%d%b%y %H %z").timestamp() * 1000)
    return Option(name, expiry_ms, float(found[2]), found[3] == "C", **reported)  # type: ignore[arg-type]


def chain_2021(folder: Path) -> tuple[int, list[Option]]:
    """Every option on 2021-02-11 with the venue's deltas: all were asked for twice, the second round counts."""
    text = gzip.decompress((folder / "option_chain_btc_2021-02-11.csv.gz").read_bytes()).decode()
    newest = sorted(csv.DictReader(text.splitlines()), key=lambda row: int(row["timestamp"]))
    table = list({row["instrument_name"]: row for row in newest}.values())
    options = [
        option(
            row["instrument_name"], forward=float(row["underlying_price"]), price=float(row["mark_price"]),
            iv=float(row["mark_iv"]) / 100, held=float(row["open_interest"]), traded=float(row["stats.volume"] or 0),
            delta=float(row["greeks.delta"]),
        )
        for row in table
    ]  # fmt: skip
    times = sorted(int(row["timestamp"]) for row in table)
    return times[len(times) // 2] // MINUTE * MINUTE, options


def chain_2025(folder: Path) -> tuple[int, list[Option]]:
    """Every option on 2025-12-05, with the time to expiry in years to five digits."""
    table = list(csv.DictReader((folder / "option_chain_btc_2025-12-05.csv").read_text().splitlines()))
    options = [
        option(
            row["instrument_name"], forward=float(row["S0"]), price=float(row["market_price_btc"]),
            iv=float(row["mark_iv"]) / 100, held=float(row["open_interest"]), traded=0.0, delta=None,
        )
        for row in table
    ]  # fmt: skip
    years = {one.expiry_ms: float(row["T_years"]) for one, row in zip(options, table, strict=True)}
    now = np.median([expiry - left * YEAR_MS for expiry, left in years.items()])
    return int(now) // MINUTE * MINUTE, options


CHAINS = {"2021": chain_2021, "2025": chain_2025}


def body(options: list[Option], with_iv: bool) -> dict[str, Any]:
    """The options in the form of the venue's summaries."""
    return {
        "result": [
            {
                "instrument_name": one.instrument, "underlying_price": one.forward, "mark_price": one.price,
                "open_interest": one.held, "volume": one.traded, "volume_usd": 0.0,
                **({"mark_iv": one.iv * 100} if with_iv else {}),
            }
            for one in options
        ]
    }  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("options"))


def built(warehouse: Warehouse, at_ms: int, reported: dict[str, Any]) -> None:
    warehouse.reset()
    index = response(at_ms, "deribit", "option_index", {"result": {"index_price": 50_000.0}}, key="btc_usd")
    warehouse.build([response(at_ms, "deribit", "option_tickers", reported, key="BTC"), index], *MODELS)


def model() -> Any:
    """The Python model, as a module."""
    found = importlib.util.spec_from_file_location("m", PROJECT / "models/intermediate/int_option_implied.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_black76_by_hand() -> None:
    """Forward 100, strike 110, 20 % for a year: d1 = 0.02 / 0.2 - ln(1.1) / 0.2 = -0.376551, so the call is worth
    N(-0.376551) - 1.1 N(-0.576551) = 0.042920 of the forward, and the put 0.1 more."""
    call, put = (float(model().black76(np.log(1.1), 0.2, one)) for one in (True, False))
    assert call == pytest.approx(0.042920, abs=5e-7)
    assert put - call == pytest.approx(0.1)
    strikes, calls = np.log([0.2, 0.9, 1.0, 1.1, 4.0]), np.array([True, True, False, False, True])
    prices = model().black76(strikes, 0.6 * np.sqrt(0.25), calls)
    assert model().implied(prices, strikes, np.full(5, 0.25), calls) == pytest.approx(np.full(5, 0.6))
    # No volatility makes a price that is below what exercising brings, nor one above the coin itself.
    none = model().implied(np.array([0.09, 1.2]), np.log([0.9, 0.9]), np.ones(2), np.array([True, True]))
    assert np.isnan(none).all()


@pytest.mark.requirement("options:real")
@pytest.mark.parametrize("year", list(CHAINS))
def test_prices_give_the_venues_own_volatilities(warehouse: Warehouse, recordings: Path, year: str) -> None:
    """From the mark prices alone, where an option is not all but worthless or certain: half of them to 0.0001 (a
    hundredth of a point, as the venue rounds), all to 0.006. The chain of 2021 took minutes to collect."""
    at_ms, options = CHAINS[year](recordings / "deribit")
    built(warehouse, at_ms, body(options, with_iv=False))
    found = dict(warehouse.rows("select instrument, iv from int_option_implied"))
    assert len(found) == len(options)
    errors = []
    for one in options:
        years = (one.expiry_ms - at_ms) / YEAR_MS
        deviation = one.iv * years**0.5
        d1 = np.log(one.forward / one.strike) / deviation + deviation / 2
        if 0.02 < ndtr(d1) < 0.98 and years > 3 / 365:
            assert found[one.instrument] is not None, one
            errors.append(abs(found[one.instrument] - one.iv))
    assert len(errors) > 300
    assert np.median(errors) < 1e-4
    assert max(errors) < 0.006


@pytest.mark.requirement("options:real")
def test_the_venues_own_deltas(warehouse: Warehouse, recordings: Path) -> None:
    """N(d1) is the venue's delta of every option to 0.0002, and the smile's points of 25 lie, to 0.001, between the
    volatilities of the listed options whose own deltas are on either side."""
    at_ms, options = chain_2021(recordings / "deribit")
    built(warehouse, at_ms, body(options, with_iv=True))
    query = "select expiry_ms, call25_iv, put25_iv from option_expiries where fly25 is not null"
    found = {row[0]: row[1:] for row in warehouse.rows(query)}
    assert len(found) >= 7
    for one in options:
        deviation = one.iv * ((one.expiry_ms - at_ms) / YEAR_MS) ** 0.5
        d1 = np.log(one.forward / one.strike) / deviation + deviation / 2
        assert one.delta == pytest.approx(ndtr(d1) - (0 if one.call else 1), abs=2e-4)
    for expiry, points in found.items():
        for iv, target, side in zip(points, (0.25, -0.25), (True, False), strict=True):
            listed = [one for one in options if one.expiry_ms == expiry and one.call is side]
            reported = sorted((one.strike, one.delta or 0, one.iv) for one in listed)
            around = [(low, high) for (_, d0, low), (_, d1, high) in pairwise(reported) if d0 >= target > d1]
            assert any(min(pair) - 0.001 < iv < max(pair) + 0.001 for pair in around), (expiry, target, iv, around)


def smile(at_ms: int, options: list[Option]) -> tuple[Any, Any, float]:
    """Log-moneyness, total variance and years of an expiry's options out of the money, by strike."""
    years = (options[0].expiry_ms - at_ms) / YEAR_MS
    points = sorted(
        (float(np.log(one.strike / one.forward)), one.iv**2 * years)
        for one in options
        if (one.strike >= one.forward) == one.call
    )
    return np.array([k for k, _ in points]), np.array([w for _, w in points]), years


def at_delta(k: Any, w: Any, years: float, target: float) -> float | None:
    """Volatility where N(d1) is the target, on the interpolated smile."""

    def off(x: float) -> float:
        total = float(np.interp(x, k, w))
        return float(ndtr(total**0.5 / 2 - x / total**0.5)) - target

    if off(k[0]) * off(k[-1]) > 0:
        return None
    return float((np.interp(brentq(off, k[0], k[-1], xtol=1e-14), k, w) / years) ** 0.5)


@pytest.mark.requirement("options:real", "options:shape", "options:iv")
@pytest.mark.parametrize("year", list(CHAINS))
def test_a_real_chain(warehouse: Warehouse, recordings: Path, year: str) -> None:
    at_ms, options = CHAINS[year](recordings / "deribit")
    built(warehouse, at_ms, body(options, with_iv=True))
    assert warehouse.rows("select * from int_option_implied") == []
    by_expiry: dict[int, list[Option]] = defaultdict(list)
    for one in options:
        by_expiry[one.expiry_ms].append(one)
    columns = """expiry_ms, expiry, days, forward, atm_iv, call25_iv, put25_iv, rr25, fly25, max_pain, call_oi, put_oi,
                 pcr_oi, pcr_vol, notional_usd"""
    rows = {row[0]: row[1:] for row in warehouse.rows(f"select {columns} from option_expiries")}
    assert set(rows) == set(by_expiry)
    volatilities = {}
    for expiry, of in by_expiry.items():
        day, days, forward, atm, call, put, rr, fly, pain, calls, puts, held, traded, notional = rows[expiry]
        assert day == f"{datetime.fromtimestamp(expiry / 1000, UTC):%Y-%m-%d}"
        assert days == pytest.approx((expiry - at_ms) / DAY_MS)
        assert forward == pytest.approx(np.mean([one.forward for one in of]))
        k, w, years = smile(at_ms, of)
        middle = float((np.interp(0, k, w) / years) ** 0.5) if k[0] <= 0 <= k[-1] else None
        expected = [middle, *(at_delta(k, w, years, x) for x in (0.25, 0.75))]
        assert [atm, call, put] == [None if x is None else pytest.approx(x, abs=1e-9) for x in expected], day
        if None not in (call, put):
            assert rr == pytest.approx(call - put)
            assert fly == pytest.approx((call + put) / 2 - atm)
            volatilities[days] = [atm, call, put]
        both = [sum(one.held for one in of if one.call is side) for side in (True, False)]
        assert [calls, puts] == pytest.approx(both)
        assert held == (pytest.approx(both[1] / both[0]) if both[0] else None)
        volumes = [sum(one.traded for one in of if one.call is side) for side in (True, False)]
        assert traded == (pytest.approx(volumes[1] / volumes[0]) if volumes[0] else None)
        assert notional == pytest.approx(sum(both) * 50_000)
        payouts = {
            at: sum(one.held * max(at - one.strike if one.call else one.strike - at, 0.0) for one in of)
            for at in sorted({one.strike for one in of})
        }
        least = min(payouts, key=lambda at: (round(payouts[at], 2), at)) if sum(both) else None
        assert pain == least, day
        by_strike: dict[float, list[Option]] = defaultdict(list)
        for one in of:
            by_strike[one.strike].append(one)
        strikes = warehouse.rows(f"select strike, iv, call_oi, put_oi from option_strikes where expiry_ms = {expiry}")
        assert sorted(row[0] for row in strikes) == sorted(by_strike)
        for strike, iv, calls, puts in strikes:
            listed = by_strike[strike]
            outside = [one.iv for one in listed if one.iv > 0 and (strike >= one.forward) == one.call]
            assert iv == (pytest.approx(float(np.mean(outside))) if outside else None), (day, strike)
            for side, total in ((True, calls), (False, puts)):
                parts = [one.held for one in listed if one.call is side]
                assert total == (pytest.approx(sum(parts)) if parts else None), (day, strike)
    assert len(volatilities) >= len(by_expiry) - 1
    before, after = max(t for t in volatilities if t <= 30), min(t for t in volatilities if t >= 30)
    share = (30 - before) / (after - before)
    constant = [
        ((early**2 * before * (1 - share) + late**2 * after * share) / 30) ** 0.5
        for early, late in zip(volatilities[before], volatilities[after], strict=True)
    ]
    assert warehouse.rows("select atm_iv, call25_iv, put25_iv from option_coins") == [pytest.approx(tuple(constant))]
    # What the smile says between strikes is what the venue says there: a listed volatility from its neighbours, half of
    # them to 0.001 and all to 0.004. (The venue's marks of 2021 are steps.)
    left_out = []
    for of in by_expiry.values():
        k, w, years = smile(at_ms, of)
        for at in range(1, len(k) - 1):
            own = (w[at] / years) ** 0.5
            delta = ndtr(w[at] ** 0.5 / 2 - k[at] / w[at] ** 0.5)
            if 0.2 < delta < 0.8 and years > 3 / 365:
                left_out.append(abs((np.interp(k[at], np.delete(k, at), np.delete(w, at)) / years) ** 0.5 - own))
    assert len(left_out) > 50
    assert np.median(left_out) < 0.001
    assert year == "2021" or max(left_out) < 0.004


@pytest.mark.requirement("options:real")
def test_a_recorded_summary_without_volatilities(warehouse: Warehouse, recordings: Path) -> None:
    """A whole body of 2024, which named no volatility: calls and puts of a strike imply the same, and no expiry lacks
    its smile."""
    file = recordings / "deribit/deribit_book.option_api.jhabermas2024.json.gz"
    reported = json.loads(gzip.decompress(file.read_bytes()))
    at_ms = max(one["creation_timestamp"] for one in reported["result"]) // MINUTE * MINUTE
    built(warehouse, at_ms, reported)
    rows = warehouse.rows("select days, atm_iv, call25_iv, put25_iv, excluded from option_expiries order by days")
    assert len(rows) == 11
    for _, atm, call, put, excluded in rows:
        assert excluded == []
        assert 0.4 < call < put + 0.1 < 0.8
        assert 0.4 < atm < 0.6
    [month] = warehouse.rows("select atm_iv from option_coins")[0]
    near = [row[1] for row in rows if 10 < row[0] < 50]
    assert min(near) <= month <= max(near)
    query = """
        with reported as (from int_option_snapshots join int_option_implied using (instrument))
        select max(abs(c.iv - p.iv)), count(*) from reported as c join reported as p using (expiry_ms, strike)
        where c.option_type = 'call' and p.option_type = 'put' and abs(ln(c.strike / c.forward)) < 0.1"""
    [(difference, pairs)] = warehouse.rows(query)
    assert pairs > 100
    assert difference < 0.01


@pytest.mark.requirement("options:pipeline")
async def test_a_recorded_minute_of_all_venues(warehouse: Warehouse) -> None:
    """The simulated market's options are the same at every venue: one smile, and the sum of what each venue holds."""
    landed, minute = [], NOW // MINUTE
    for declared in (DERIBIT, OKX, BINANCE, BYBIT):
        chosen = tuple(one for one in declared.endpoints if one.name.startswith("option_"))
        answers, world = await recorded_minute(replace(declared, endpoints=chosen, streams=()), NOW)
        assert [row["error"] for row in answers if row["error"]] == []
        landed += answers
    warehouse.reset()
    warehouse.build(landed, *MODELS)
    assert warehouse.rows("from int_option_implied") == []
    for coin in ("BTC", "ETH"):
        true = {name: chain(world, name, coin, minute, held[coin]) for name, held in HELD.items()}
        one = true["okx"]
        rows = warehouse.rows(
            "select expiry_ms, venues, atm_iv, call25_iv, put25_iv, call_oi, put_oi, partial from option_expiries "
            f"where coin = '{coin}' and days > 1"
        )
        assert len(rows) > 6
        for expiry, venues, atm, call, put, calls, puts, partial in rows:
            of = one.expiry_ms == expiry
            assert venues == ["binance", "bybit", "deribit", "okx"]
            assert atm == pytest.approx(one.atm_iv[of][0], rel=0.02)
            for iv, delta, side in ((call, 0.25, one.call), (put, -0.25, ~one.call)):
                points = np.argsort(one.delta[of & side])
                expected = np.interp(delta, one.delta[of & side][points], one.mark_iv[of & side][points])
                assert iv == pytest.approx(expected, rel=0.02)
            held = [
                sum(
                    float(each.open_interest[(each.expiry_ms == expiry) & (each.call == side)].sum())
                    for each in true.values()
                )
                for side in (True, False)
            ]
            assert [calls, puts] == pytest.approx(held, rel=0.01, abs=5), expiry
            assert not partial
        smile_of = dict(warehouse.rows(
            f"select (expiry_ms, strike), iv_by_venue from option_strikes where coin = '{coin}' and iv is not null"
        ))  # fmt: skip
        for name, each in true.items():
            for at in np.flatnonzero((each.strike >= each.forward) == each.call):
                found = smile_of[int(each.expiry_ms[at]), float(each.strike[at])][name.partition(" ")[0]]
                assert found == pytest.approx(each.mark_iv[at], abs=0.02), (name, at)
        [(spot, atm)] = warehouse.rows(f"select spot, atm_iv from option_coins where coin = '{coin}'")
        assert spot == pytest.approx(one.index, rel=1e-3)
        assert min(row[2] for row in rows) < atm < max(row[2] for row in rows)
