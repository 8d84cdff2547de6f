"""Volume spikes and their outcomes against a plain recomputation, and that stored ones never change."""

import math
import random
import statistics
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.facts.mart_facts import MINUTE, T0, Row, Warehouse, market

DAY, COOLDOWN = 1440, 15
MARKETS = [
    market("binance:perp:AUSDT", "A"),
    market("bybit:perp:AUSDT", "A"),
    market("okx:spot:B-USDT", "B"),
    market("hyperliquid:perp:xyz:C", "xyz:C", hip3=True, aggregated=False),
]
LENGTH = DAY + 400


def bars(seed: int) -> dict[tuple[str, int], Row]:
    """Bars of a day and some hours by market and minute number: quiet, with bursts, with holes."""
    chance = random.Random(seed)
    made: dict[tuple[str, int], Row] = {}
    for number, identity in enumerate(MARKETS):
        price, level = 100.0 + number, 9 + number / 2
        for minute in range(LENGTH):
            price *= math.exp(chance.gauss(0, 0.001))
            burst = chance.random() < 0.02 and minute > 200
            usd = math.exp(chance.gauss(level, 0.3) + (chance.uniform(2, 5) if burst else 0))
            if chance.random() < 0.02:
                continue
            buy = usd * chance.random() if identity["venue"] != "bybit" else None
            sides = {"taker_buy_usd": buy, "taker_sell_usd": None if buy is None else usd - buy}
            times = {"minute_ms": T0 + minute * MINUTE, "tick_ms": T0 + (minute + 1) * MINUTE}
            prices = {"open": price * chance.choice([0.999, 1, 1, 1.001]), "close": price}
            row = {**identity, **times, **prices, "volume_usd": usd, **sides, "source": "recorded"}
            made[identity["market_id"], minute] = row
    # A market whose bars are all alike has no deviation to measure by: nothing there stands out.
    for minute in range(LENGTH):
        if ("okx:spot:B-USDT", minute) in made:
            made["okx:spot:B-USDT", minute] = {**made["okx:spot:B-USDT", minute], "volume_usd": 60_000.0}
    loud = {"minute_ms": T0 + 1500 * MINUTE, "volume_usd": 6e8}
    made["okx:spot:B-USDT", 1500] = {**made["okx:spot:B-USDT", 1499], **loud}
    return made


def expected(made: dict[tuple[str, int], Row], first: int) -> list[tuple[Any, ...]]:
    """(market, minute, side, z) of the spikes from a minute on, bar by bar."""
    found = []
    for identity in MARKETS:
        name, last = identity["market_id"], -COOLDOWN
        for minute in range(first, LENGTH):
            bar = made.get((name, minute))
            if bar is None or bar["volume_usd"] < 50_000 or minute - last < COOLDOWN:
                continue
            past = [made[name, at]["volume_usd"] for at in range(minute - DAY, minute) if (name, at) in made]
            values = [math.log(1 + usd) for usd in past]
            middle = statistics.median(values)
            mad = statistics.median(abs(x - middle) for x in values)
            if not mad or (z := 0.6745 * (math.log(1 + bar["volume_usd"]) - middle) / mad) < 6:
                continue
            last, moved = minute, bar["close"] - bar["open"]
            if bar["taker_buy_usd"] is not None:
                moved = bar["taker_buy_usd"] - bar["taker_sell_usd"]
            found.append((name, minute, "buy" if moved > 0 else "sell" if moved < 0 else None, pytest.approx(z)))
    return sorted(found, key=lambda row: row[:2])


def outcomes(made: dict[tuple[str, int], Row], spikes: Iterable[tuple[Any, ...]], now: int) -> list[tuple[Any, ...]]:
    """(market, minute, horizon, state, return, directional return) of what is known at a minute."""
    found: list[tuple[Any, ...]] = []
    for name, minute, side, _ in spikes:
        for horizon in (5, 15, 60):
            bar = made.get((name, minute + horizon))
            if bar is not None and minute + horizon < now:
                value = bar["close"] / made[name, minute]["close"] - 1
                turned = {"buy": pytest.approx(value), "sell": pytest.approx(-value), None: None}[side]
                found.append((name, minute, horizon, "observed", pytest.approx(value), turned))
            elif bar is None and minute + horizon + 75 <= now:
                found.append((name, minute, horizon, "unavailable", None, None))
    return sorted(found, key=lambda row: row[:3])


SPIKES = f"select market_id, (ts - {T0}) // 60000, dir, sig from spikes order by 1, 2"
OUTCOMES = (
    f"select market_id, (ts - {T0}) // 60000, horizon_min, o.state, return, directional_return "
    "from spike_outcomes as o join spikes using (id, ts) order by 1, 2, 3"
)


def test_spikes_and_outcomes_equal_a_plain_recomputation(tmp_path: Path) -> None:
    made = bars(7)
    warehouse = Warehouse(tmp_path)
    warehouse.add_many("int_market_bars", made.values())
    # As recorded: a first window over the day before, then windows of one minute, of several, and one after a break.
    edges = [DAY, DAY + 1, DAY + 2, DAY + 10, DAY + 130, DAY + 131, DAY + 300, LENGTH]
    warehouse.build([T0 + minute * MINUTE for minute in range(1, DAY + 1)], folder="spikes")
    warehouse.write("delete from spikes; delete from spike_outcomes")  # the past of the first day is not a day long
    for begin, end in pairwise(edges):
        warehouse.build([T0 + minute * MINUTE for minute in range(begin + 1, end + 1)], folder="spikes")
        assert warehouse.rows(OUTCOMES) == outcomes(made, warehouse.rows(SPIKES), end)
    wanted = expected(made, DAY)
    assert len(wanted) > 20
    assert {row[2] for row in wanted} == {"buy", "sell", None}
    assert warehouse.rows(SPIKES) == wanted
    ids = [row[0] for row in warehouse.rows("select id from spikes")]
    assert len(set(ids)) == len(ids)
    assert all(0 <= number < 2**53 for number in ids)


def test_stored_spikes_and_outcomes_never_change(tmp_path: Path) -> None:
    """A window built twice, a restated bar or a past completed later changes no spike and no outcome."""
    made = bars(3)
    warehouse = Warehouse(tmp_path)
    warehouse.add_many("int_market_bars", made.values())
    minutes = [T0 + minute * MINUTE for minute in range(DAY, LENGTH)]
    warehouse.build(minutes, folder="spikes")
    before = warehouse.rows("from spikes order by id"), warehouse.rows("from spike_outcomes order by all")
    assert all(before)
    assert warehouse.rows("select count(*) > 0 from spike_outcomes where state = 'unavailable'") == [(True,)]
    warehouse.write(f"update int_market_bars set volume_usd = 70000, close = close * 2 where minute_ms < {minutes[-1]}")
    late = [
        {**identity, "minute_ms": T0 + minute * MINUTE, "tick_ms": minutes[-1], "open": 1.0, "close": 1.0,
         "volume_usd": 1.0, "source": "recorded"}
        for identity in MARKETS
        for minute in range(LENGTH)
        if (identity["market_id"], minute) not in made
    ]  # fmt: skip
    warehouse.add_many("int_market_bars", late)
    warehouse.build(minutes, folder="spikes")
    assert warehouse.rows("from spikes order by id") == before[0]
    later = warehouse.rows("from spike_outcomes order by all")
    assert set(before[1]) <= set(later)


def test_fetched_bars_are_judged_when_the_backfill_has_ended(tmp_path: Path) -> None:
    """All of the last two days at once, each against what was traded before it, with their outcomes."""
    made: dict[tuple[str, int], Row] = {key: {**bar, "source": "backfilled"} for key, bar in bars(7).items()}
    warehouse = Warehouse(tmp_path)
    warehouse.add_many("int_market_bars", made.values())
    warehouse.build([T0 + LENGTH * MINUTE], folder="spikes")
    assert warehouse.rows(SPIKES) == []
    warehouse.note(triggers="after_history")
    newest = T0 + (LENGTH + 1) * MINUTE
    warehouse.build([newest], folder="spikes")
    spikes = warehouse.rows(SPIKES)
    assert spikes == expected(made, 100)
    assert len(spikes) > 80
    assert warehouse.rows(OUTCOMES) == outcomes(made, spikes, LENGTH + 1)
    assert warehouse.rows("select distinct tick_ms from spikes") == [(newest,)]
    assert warehouse.rows("select sample > 0 from spike_stats where lookback = '7d' and base = ''") == [(True,)]


def test_a_spike_reported_hours_late_gets_its_outcomes_at_once(tmp_path: Path) -> None:
    """A venue that was down for hours returns all its bars in one response, which settles its spikes."""
    made = {key: bar for key, bar in bars(7).items() if key[0] == MARKETS[0]["market_id"]}
    silent, back = DAY + 10, DAY + 300
    late = T0 + back * MINUTE
    reported = [{**bar, "tick_ms": late} if silent <= minute < back else bar for (_, minute), bar in made.items()]
    warehouse = Warehouse(tmp_path)
    warehouse.add_many("int_market_bars", [row for row in reported if row["tick_ms"] < late])
    for minute in (silent, back - 1):
        warehouse.build([T0 + minute * MINUTE], folder="spikes")
        recorded = f"(1, 0, 0, 0, [{T0 + minute * MINUTE}]::bigint[], []::bigint[])"
        warehouse.write(f"insert into pipeline.builds values {recorded}")
    warehouse.add_many("int_market_bars", [row for row in reported if row["tick_ms"] >= late])
    warehouse.build([late], folder="spikes")
    spikes = warehouse.rows(SPIKES)
    assert min(minute for _, minute, *_ in spikes) < back - 135
    assert warehouse.rows(OUTCOMES) == outcomes(made, spikes, back)


HORIZONS, HOUR, NOW = (5, 15, 60), 60 * MINUTE, T0 + 40 * DAY * MINUTE
WINDOWS = {"7d": NOW - 7 * DAY * MINUTE, "30d": NOW - 30 * DAY * MINUTE, "all": 0}


def reported_spikes(seed: int) -> tuple[list[Row], list[Row]]:
    """Spikes of 40 days with outcomes: most observed, some missing, some pending, some without a direction."""
    chance = random.Random(seed)
    found: list[Row] = []
    judged: list[Row] = []
    of_coin = [*MARKETS, market("hyperliquid:perp:xyz:A", "A", hip3=True)]
    for number in range(900):
        # The newest weeks know nothing of the last market.
        where = chance.choice(of_coin)
        ts = T0 + chance.randrange(0, (40 if where is not MARKETS[2] else 8) * DAY) * MINUTE
        names = ("market_id", "venue", "type", "symbol", "base", "hip3")
        side = chance.choice(["buy", "buy", "sell", None])
        fixed = {"kind": "volume", "sig": 7.0, "volume_usd": 1e5, "baseline_usd": 1e3, "baseline_n": 1440, "price": 1.0}
        identity = {name: where[name] for name in names}
        found.append({"id": number, "ts": ts, **identity, "dir": side, **fixed, "tick_ms": ts})
        for horizon in HORIZONS:
            known = chance.random()
            if known < 0.1:
                continue
            moved = None if known < 0.2 else chance.choice([0.0, chance.gauss(0, 0.01), chance.gauss(0, 0.01)])
            turned = None if moved is None or side is None else moved * (1 if side == "buy" else -1)
            state = "unavailable" if moved is None else "observed"
            judged.append(
                {"id": number, "ts": ts, "horizon_min": horizon, "due_ms": ts + (horizon + 1) * MINUTE, "state": state,
                 "return": moved, "directional_return": turned, "tick_ms": ts}
            )  # fmt: skip
    return found, judged


def figures(spikes: list[Row], judged: dict[tuple[int, int], Row]) -> list[dict[str, Any]]:
    """The expected figures of each horizon, computed with numpy."""
    rows = []
    for horizon in HORIZONS:
        known = [(one, judged[one["id"], horizon]) for one in spikes if (one["id"], horizon) in judged]
        known = [(one, outcome) for one, outcome in known if outcome["directional_return"] is not None]
        turned = np.array([outcome["directional_return"] for _, outcome in known])
        n, hits = len(known), int((turned > 0).sum())
        row: dict[str, Any] = {"horizon_min": horizon, "n": n, "hits": hits, "low_n": n < 30}
        row["n_independent"] = len({one["ts"] // (horizon * MINUTE) for one, _ in known})
        row |= dict.fromkeys(("hit_rate", "base_rate", "q1", "median", "q3", "mean", "first_ms", "last_ms"))
        if n:
            quartiles = dict(zip(("q1", "median", "q3"), np.quantile(turned, [0.25, 0.5, 0.75]), strict=True))
            row |= {name: pytest.approx(value, rel=1e-12, abs=1e-18) for name, value in quartiles.items()}
            buys = sum(one["dir"] == "buy" for one, _ in known) / n
            ups, downs = (sum(np.sign(outcome["return"]) == sign for _, outcome in known) / n for sign in (1, -1))
            times = [one["ts"] for one, _ in known]
            row |= {
                "hit_rate": hits / n, "base_rate": pytest.approx(buys * ups + (1 - buys) * downs),
                "mean": pytest.approx(turned.mean(), rel=1e-9, abs=1e-15),
                "first_ms": min(times), "last_ms": max(times),
            }  # fmt: skip
        rows.append(row)
    return rows


@pytest.mark.requirement("spike-stats:recomputed")
def test_statistics_equal_numpys(tmp_path: Path) -> None:
    found, judged = reported_spikes(5)
    outcome_of = {(row["id"], row["horizon_min"]): row for row in judged}
    warehouse = Warehouse(tmp_path)
    warehouse.build([], folder="spikes")
    warehouse.add_many("spikes", found)
    warehouse.add_many("spike_outcomes", judged)
    warehouse.note(as_of_ms=NOW)
    warehouse.window([NOW])
    warehouse.dbt("run", "--select", "spike_stats")
    stats = {(row["lookback"], row["base"]): row for row in warehouse.records("from spike_stats")}
    coins = {str(one["base"]) for one in found}
    assert set(stats) == {(window, base) for window in WINDOWS for base in ("", *coins)}
    for (window, base), row in stats.items():
        every = [one for one in found if one["ts"] >= WINDOWS[window] and base in ("", one["base"])]
        # HIP-3 counts where it alone has the coin.
        own = [one for one in every if not one["hip3"] or base == "xyz:C"]
        known = [outcome_of[one["id"], h] for one in own for h in HORIZONS if (one["id"], h) in outcome_of]
        observed = sum(outcome["state"] == "observed" for outcome in known)
        assert (row["sample"], row["measured"]) == (len(own), observed), (window, base)
        assert (row["unavailable"], row["pending"]) == (len(known) - observed, 3 * len(own) - len(known))
        assert row["mixed"] == ({"buy", "sell"} <= {one["dir"] for one in own})
        assert row["overall"] == (figures(own, outcome_of) if own else [])
        assert row["low_n"] == any(part["low_n"] for part in row["overall"] or [{"low_n": True}])
        hour = row["overall"][-1] if own else {"n": 0, "hits": 0, "hit_rate": None, "median": None}
        assert [row[name] for name in ("n", "hits", "hit_rate", "median")] == [
            hour[name] for name in ("n", "hits", "hit_rate", "median")
        ]
        venues = sorted({(one["venue"], one["hip3"]) for one in every})
        assert row["split"]["venues"] == [
            {"venue": venue, "hip3": hip3,
             "overall": figures([one for one in every if (one["venue"], one["hip3"]) == (venue, hip3)], outcome_of)}
            for venue, hip3 in venues
        ]  # fmt: skip
        assert row["split"]["directions"] == [
            {"dir": side, "overall": figures([one for one in own if one["dir"] == side], outcome_of)}
            for side in ("buy", "sell")
            if any(one["dir"] == side for one in own)
        ]
    # Of all time each coin is counted again once in a day of hours, and all together in its first.
    turns: dict[str, list[int]] = {base: [] for base in ("", *coins)}
    for hour in range(24):
        warehouse.write("update spike_stats set n = -1 where lookback = 'all'")
        warehouse.note(as_of_ms=NOW + hour * HOUR)
        warehouse.dbt("run", "--select", "spike_stats")
        for (base,) in warehouse.rows("select base from spike_stats where lookback = 'all' and n >= 0"):
            turns[base].append(hour)
    assert all(len(hours) == 1 for hours in turns.values()), turns
    assert turns[""] == [0]
    # A coin whose spikes are all older keeps its row.
    assert stats["7d", "B"]["sample"] == 0 < stats["all", "B"]["sample"]
    venues = [(part["venue"], part["hip3"]) for part in stats["all", ""]["split"]["venues"]]
    assert venues == [("binance", False), ("bybit", False), ("hyperliquid", True), ("okx", False)]
