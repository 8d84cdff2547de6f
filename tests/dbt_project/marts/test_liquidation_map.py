"""The liquidation map by hand, against a plain recomputation, and scored where the true liquidations are known."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap, spearmanr

from tests.support.facts.mart_facts import MINUTE, T0, Row, Warehouse, instrument, market
from tests.support.facts.simulated_positions import QUOTE, START_MS, VENUE, Perp, liquidations, perps

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
MAPS = "int_liquidation_maps"
WEIGHTS = {5: 0.25, 10: 0.30, 25: 0.25, 50: 0.15, 100: 0.05}
MAINTENANCE = 0.005
A = market("binance:perp:AUSDT", "A")


def bin_of(price: float) -> int:
    return math.floor(math.log(price) / math.log(1.001))


def prepared(folder: Path, identities: list[dict[str, Any]], since_ms: int, days: int = 1) -> Warehouse:
    """A warehouse whose perps have indices of which a book is recorded every hour."""
    warehouse = Warehouse(folder)
    warehouse.write(f"drop table {MAPS}; insert into raw_window (venue, endpoint) values ('v', 'index_books')")
    warehouse.dbt("seed", "--select", "liquidation_assumptions")
    warehouse.add("instruments", [instrument(one) for one in identities])
    legs = [{"exchange": "binance", "pair": "X", "weight": 1.0}]
    of_index = [{"market_id": one["market_id"], "since_ms": since_ms, "base": one["base"]} for one in identities]
    warehouse.add_many("int_index_components", [{**one, "components": legs} for one in of_index])
    warehouse.add_many(
        "int_index_depth",
        [
            {"tick_ms": since_ms + n * HOUR, "market_id": "binance:spot:X", "base": one["base"]}
            for one in identities
            for n in range(days * 24 + 1)
        ],
    )
    return warehouse


def minutes(identity: Row, start: int, prices: list[float], coins: list[float | None]) -> list[Row]:
    return [
        {**identity, "minute_ms": start + n * MINUTE, "price": price, "oi_base": held, "oi_usd": (held or 0) * price}
        for n, (price, held) in enumerate(zip(prices, coins, strict=True))
    ]


def moved_on(warehouse: Warehouse, first: int, last: int) -> None:
    """Build the map with a window of these minutes."""
    warehouse.window(range(first, last + 1, MINUTE))
    warehouse.dbt("run", "--select", MAPS)


NEWEST = f"select side, bin, usd from {MAPS} where frozen_ms = 0 and scenario = {{}} order by 1, 2"


def test_by_hand(tmp_path: Path) -> None:
    """At 100 USD 10 coins are added, 80 % of them by buyers: 800 USD of longs, 200 of shorts, by leverage. Then the
    price falls to 98.6 and half of what is open is closed: longs of 100 (99.5) are gone, all else is halved."""
    warehouse = prepared(tmp_path, [A], T0)
    steady: list[float | None] = [100.0] * 5
    rows = minutes(A, T0, [100.0] * 10, [*steady, *[110.0] * 5])
    warehouse.add("int_market_minutes", rows)
    bar = {**A, "open": 100.0, "high": 100.0, "low": 100.0, "close": 100.0, "source": "recorded"}
    warehouse.add("int_market_bars", [{**bar, "minute_ms": T0 + 5 * MINUTE, "taker_buy_usd": 8, "taker_sell_usd": 2}])
    moved_on(warehouse, T0, T0 + 10 * MINUTE)
    longs = {bin_of(100 * (1 - 1 / x + MAINTENANCE)): 800 * weight for x, weight in WEIGHTS.items()}
    shorts = {bin_of(100 * (1 + 1 / x - MAINTENANCE)): 200 * weight for x, weight in WEIGHTS.items()}
    reported = [("long", at, pytest.approx(usd)) for at, usd in sorted(longs.items())]
    reported += [("short", at, pytest.approx(usd)) for at, usd in sorted(shorts.items())]
    assert warehouse.rows(NEWEST.format(1)) == reported
    # Half the leverage is further away; twice 100 leaves no margin and is not offered.
    half = dict(
        warehouse.rows(NEWEST.format(0.5).replace("side, bin", "bin").replace("0.5 ", "0.5 and side = 'long' "))
    )
    assert half == pytest.approx({bin_of(100 * (1 - 2 / x + MAINTENANCE)): 800 * w for x, w in WEIGHTS.items()})
    assert len(warehouse.rows(NEWEST.format(2))) == 8
    moved_on(warehouse, T0, T0 + 10 * MINUTE)
    assert warehouse.rows(NEWEST.format(1)) == reported, "a window twice"
    half_held: list[float | None] = [55.0] * 5
    warehouse.add("int_market_minutes", minutes(A, T0 + 10 * MINUTE, [98.6] * 5, half_held))
    moved_on(warehouse, T0 + 11 * MINUTE, T0 + 15 * MINUTE)
    del longs[bin_of(99.5)]
    # 50 (98.5) is just below where the price went.
    reported = [("long", at, pytest.approx(usd / 2)) for at, usd in sorted(longs.items())]
    reported += [("short", at, pytest.approx(usd / 2)) for at, usd in sorted(shorts.items())]
    assert warehouse.rows(NEWEST.format(1)) == reported
    moved_on(warehouse, T0, T0 + 9 * MINUTE)
    assert warehouse.rows(NEWEST.format(1)) == reported, "a window of the past"


@pytest.mark.parametrize(("minutes_each", "alone"), [(5, False), (5, True), (100, False)])
def test_steps_do_not_matter(tmp_path: Path, minutes_each: int, alone: bool) -> None:
    """Ten coins are opened at 100 USD a little at a time; the venue falls silent for 75 minutes, after which half of
    what was open is closed. A build each five minutes, also of the newest minute alone, makes the map that one build
    makes."""
    warehouse = prepared(tmp_path, [A], T0)
    warehouse.write(f"insert into pipeline.loads values ('1', null, {T0}, {T0}, 1, 1)")
    begun: list[float | None] = [10.0 + 0.1 * (n // 5) for n in range(20)]
    warehouse.add_many("int_market_minutes", minutes(A, T0, [100.0] * 20, begun))
    warehouse.add_many("int_market_minutes", minutes(A, T0 + 95 * MINUTE, [100.0] * 5, [5.15] * 5))
    first = T0
    for end in range(minutes_each, 101, minutes_each):
        moved_on(warehouse, T0 + end * MINUTE if alone else first, T0 + end * MINUTE)
        first = T0 + (end + 1) * MINUTE
    opened = 0.3 * 100 / 2
    sides = {
        side: {bin_of(100 * (1 + sign * (1 / x - MAINTENANCE))): opened * weight / 2 for x, weight in WEIGHTS.items()}
        for side, sign in (("long", -1), ("short", 1))
    }
    reported = [(side, at, pytest.approx(usd)) for side, of in sides.items() for at, usd in sorted(of.items())]
    assert warehouse.rows(NEWEST.format(1)) == reported


def facts(warehouse: Warehouse, found: list[Perp]) -> None:
    """Record the simulated perps."""
    for one in found:
        identity = market(f"{VENUE}:perp:{one.symbol}", one.base)
        bars = one.bars
        columns = zip(
            bars.open[0], bars.high[0], bars.low[0], bars.close[0], bars.quote_volume[0], bars.taker_buy[0], one.oi,
            strict=True,
        )  # fmt: skip
        rows = [(START_MS + n * MINUTE, *(float(value) for value in row)) for n, row in enumerate(columns)]
        warehouse.add_many(
            "int_market_minutes",
            [{**identity, "minute_ms": t, "price": opened, "oi_base": held, "oi_usd": held * opened}
             for t, opened, _, _, _, _, _, held in rows],
        )  # fmt: skip
        warehouse.add_many(
            "int_market_bars",
            [{**identity, "minute_ms": t, "open": opened, "high": high, "low": low, "close": close,
              "source": "recorded", "volume_usd": usd, "taker_buy_usd": usd * bought,
              "taker_sell_usd": usd * (1 - bought)}
             for t, opened, high, low, close, usd, bought, _ in rows],
        )  # fmt: skip


def recomputed(one: Perp, until: int) -> dict[tuple[str, int], float]:
    """The map of a perp after so many minutes, position by position."""
    cut = until // 5 * 5
    parts = [getattr(one.bars, name)[0, :cut].reshape(-1, 5) for name in ("open", "low", "high")]
    price, low, high = parts[0].mean(1), parts[1].min(1), parts[2].max(1)
    held = one.oi[:cut].reshape(-1, 5)[:, -1]
    usd = one.bars.quote_volume[0, :cut].reshape(-1, 5)
    share = (usd * one.bars.taker_buy[0, :cut].reshape(-1, 5)).sum(1) / usd.sum(1)
    found: dict[tuple[str, int], float] = {}
    for n in range(1, len(price)):
        if held[n] <= held[n - 1]:
            continue
        left = float(np.prod(np.minimum(held[n + 1 :] / held[n:-1], 1.0)))
        for leverage, weight in WEIGHTS.items():
            for side, direction, part in (("long", -1, share[n]), ("short", 1, 1 - share[n])):
                at = price[n] * (1 + direction * (1 / leverage - MAINTENANCE))
                if (low[n + 1 :] <= at).any() if side == "long" else (high[n + 1 :] >= at).any():
                    continue
                key = (side, bin_of(at))
                opened = (held[n] - held[n - 1]) * price[n]
                found[key] = found.get(key, 0.0) + opened * part * weight * left
    return found


DAYS, PERPS = 8, 3


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, list[Perp]]:
    """Eight days of three perps, built twelve hours at a time; the table `kept` has every frozen map."""
    found = perps(DAYS, PERPS)
    identities = [market(f"{VENUE}:perp:{one.symbol}", one.base, quote=QUOTE) for one in found]
    warehouse = prepared(tmp_path_factory.mktemp("maps"), identities, START_MS, DAYS)
    facts(warehouse, found)
    for seed, one in enumerate(found):
        events = [
            {"tick_ms": START_MS + (event.minute + 1) * MINUTE, "ts": START_MS + event.minute * MINUTE,
             "market_id": f"{VENUE}:perp:{one.symbol}", "side": "long" if event.long else "short", "usd": event.usd,
             "price": event.price}
            for event in liquidations(one, seed)
        ]  # fmt: skip
        warehouse.add_many("int_liquidations", events)
    listened = {"venue": VENUE, "endpoint": "liquidations", "key": "", "connected_ms": MINUTE}
    warehouse.add_many(
        "int_stream_minutes", [{**listened, "tick_ms": START_MS + n * MINUTE} for n in range(DAYS * 1440 + 1)]
    )
    for begin in range(START_MS, START_MS + DAYS * DAY, 12 * HOUR):
        moved_on(warehouse, begin + (MINUTE if begin > START_MS else 0), begin + 12 * HOUR)
        kept = f"select * from {MAPS} where frozen_ms > {begin}"
        warehouse.write(f"create table if not exists kept as {kept} limit 0; insert into kept {kept}")
    return warehouse, found


def test_the_maps_equal_a_plain_recomputation(simulated: tuple[Warehouse, list[Perp]]) -> None:
    warehouse, found = simulated
    assert warehouse.rows("select count(distinct frozen_ms) from kept") == [(DAYS * 24,)]
    for one in found[:2]:
        for hours in (5, 50, DAYS * 24):
            reported = warehouse.rows(
                f"select side, bin, usd from kept where frozen_ms = {START_MS + hours * HOUR} "
                f"and market_id = '{VENUE}:perp:{one.symbol}'"
            )
            # What crumbles under a dollar is dropped on the way, and a map stores bins, not prices: the position at the
            # edge of where the price went may be on either side.
            expected = recomputed(one, hours * 60)
            assert sum(row[2] for row in reported) == pytest.approx(sum(expected.values()), rel=0.01)
            wrong = sum(abs(expected.get((side, at), 0) - usd) for side, at, usd in reported)
            assert wrong < 0.01 * sum(expected.values())


def scored(warehouse: Warehouse, how: str) -> None:
    """Score the kept maps with the sides that an expression says, and judge every day."""
    last = START_MS + DAYS * DAY
    warehouse.write(
        "drop table if exists liquidation_map_scores; drop table if exists heatmap_verdicts; "
        f"delete from {MAPS}; insert into {MAPS} by name "
        f"select * exclude (side, usd), {how} as side, sum(usd) as usd from kept group by all"
    )
    warehouse.window([last])
    warehouse.dbt("run", "--select", "liquidation_map_scores", "heatmap_verdicts")


RIGHT = "side"
SHUFFLED = "if(md5_number_lower(market_id || frozen_ms || bin || side) % 2 = 0, 'long', 'short')"
SWAPPED = "if(side = 'long', 'short', 'long')"


@pytest.mark.requirement("heatmap:truth")
@pytest.mark.parametrize(("how", "verdict"), [(RIGHT, "better"), (SHUFFLED, "worse"), (SWAPPED, "worse")])
def test_the_map_beats_a_naive_one_and_a_broken_map_does_not(
    simulated: tuple[Warehouse, list[Perp]], how: str, verdict: str
) -> None:
    warehouse, _ = simulated
    scored(warehouse, how)
    rows = warehouse.records("from heatmap_verdicts order by day_ms, horizon_h")
    # The last day's horizon of 24 hours is not over; the first four days are too few to judge by.
    assert [(row["day_ms"], row["horizon_h"]) for row in rows] == [
        (START_MS + day * DAY, horizon) for day in range(DAYS - 2) for horizon in (4, 24)
    ]
    assert {row["verdict"] for row in rows if row["days"] < 5} == {"inconclusive"}
    for row in rows[-4:]:
        assert row["verdict"] == verdict
        assert row["sample"] > 200
        low, high = row["difference_low"], row["difference_high"]
        assert low <= row["difference"] <= high
        assert (low > 0) if verdict == "better" else (high < 0)
        if how == RIGHT:
            assert row["rho_model"] > row["rho_base"] + 0.05
            assert row["hit_model"] > 2 * row["hit_base"]
    before = warehouse.rows("from heatmap_verdicts order by all")
    warehouse.write("update liquidation_map_scores set rho_model = 0")
    warehouse.dbt("run", "--select", "liquidation_map_scores", "heatmap_verdicts")
    assert warehouse.rows("from heatmap_verdicts order by all") == before, "a day is judged once"


@pytest.mark.requirement("heatmap:scores")
def test_scores_equal_scipy(simulated: tuple[Warehouse, list[Perp]]) -> None:
    warehouse, found = simulated
    scored(warehouse, RIGHT)
    one, checked = found[0], 0
    name = f"{VENUE}:perp:{one.symbol}"
    rows = warehouse.records("from liquidation_map_scores where market_id = ? order by frozen_ms, horizon_h", name)
    assert {row["state"] for row in rows} >= {"scored"}
    for row in rows[::10]:
        first = (row["frozen_ms"] - START_MS) // MINUTE
        span = slice(first, first + row["horizon_h"] * 60)
        middle, low, high = (
            bin_of(float(value))
            for value in (one.bars.open[0, first], one.bars.low[0, span].min(), one.bars.high[0, span].max())
        )
        held = "select side, bin, usd from kept where frozen_ms = ? and market_id = ?"
        predicted = {(side, at): usd for side, at, usd in warehouse.rows(held, row["frozen_ms"], name)}
        real: dict[tuple[str, int], float] = {}
        query = "select side, price, usd from int_liquidations where market_id = ? and ts >= ? and ts < ?"
        end = row["frozen_ms"] + row["horizon_h"] * HOUR
        for side, price, usd in warehouse.rows(query, name, row["frozen_ms"], end):
            real[side, bin_of(price)] = real.get((side, bin_of(price)), 0.0) + usd
        units = [(side, at) for at in range(low, high + 1) for side in ("long", "short")]
        near = [
            1 / (1 + abs(at - middle)) if (at <= middle if side == "long" else at >= middle) else 0.0
            for side, at in units
        ]
        liquidated = np.array([real.get(unit, 0.0) for unit in units])
        maps = np.array([predicted.get(unit, 0.0) for unit in units])
        assert row["bins"] == high - low + 1
        if row["state"] == "scored":
            assert row["rho_model"] == pytest.approx(spearmanr(maps, liquidated)[0], abs=1e-9)
            assert row["rho_base"] == pytest.approx(spearmanr(near, liquidated)[0], abs=1e-9)
            # A bin without an estimate predicts nothing, also where fewer than a tenth of the bins have one.
            best = np.argsort(-maps, kind="stable")[: min(math.ceil(len(units) / 10), int((maps > 0).sum()))]
            assert row["hit_model"] == pytest.approx(liquidated[best].sum() / liquidated.sum(), abs=1e-9)
            checked += 1
    assert checked >= 20


@pytest.mark.requirement("heatmap:scores")
def test_the_bootstrap_is_scipy_s(simulated: tuple[Warehouse, list[Perp]]) -> None:
    """By day, of the medians' median: quantiles of other draws, so to a tenth of the interval."""
    warehouse, _ = simulated
    scored(warehouse, RIGHT)
    for row in warehouse.records("from heatmap_verdicts where days >= 5"):
        daily = warehouse.rows(
            "select median(rho_model - rho_base) from liquidation_map_scores where state = 'scored' and horizon_h = ? "
            "and frozen_ms < ? group by frozen_ms // 86400000 order by frozen_ms // 86400000",
            row["horizon_h"], row["day_ms"] + DAY,
        )  # fmt: skip
        values = np.array([value for (value,) in daily])
        assert row["difference"] == pytest.approx(np.median(values))
        expected = bootstrap((values,), np.median, n_resamples=9999, method="percentile", rng=1).confidence_interval
        width = expected.high - expected.low
        assert row["difference_low"] == pytest.approx(expected.low, abs=0.1 * width)
        assert row["difference_high"] == pytest.approx(expected.high, abs=0.1 * width)


@pytest.mark.requirement("heatmap:scores")
def test_unrecorded_time_is_not_scored(simulated: tuple[Warehouse, list[Perp]]) -> None:
    warehouse, _ = simulated
    start = START_MS + 2 * DAY
    warehouse.write(
        f"create table streams as from int_stream_minutes; "
        f"delete from int_stream_minutes where tick_ms >= {start} and tick_ms < {start + 30 * MINUTE}"
    )
    try:
        scored(warehouse, RIGHT)
        states = dict(
            warehouse.rows(
                "select (frozen_ms - ?) // 3600000, string_agg(distinct state) from liquidation_map_scores "
                "where horizon_h = 4 and frozen_ms between ? and ? group by 1",
                start, start - 6 * HOUR, start + 2 * HOUR,
            )
        )  # fmt: skip
        # Half an hour is more than a tenth of four hours.
        assert {hour for hour, state in states.items() if "not_recorded" in state} == {-3, -2, -1, 0}
    finally:
        warehouse.write(
            "delete from int_stream_minutes; insert into int_stream_minutes from streams; drop table streams"
        )
