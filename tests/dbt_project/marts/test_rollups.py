"""The series tiers against a plain recomputation from the 1-minute facts, whatever the order of the builds."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.facts.mart_facts import MINUTE, STEPS, T0, Row, Warehouse, instrument, market, response, stream

MARKETS = [
    market("binance:perp:AUSDT", "A"),
    market("bybit:perp:AUSDT", "A"),
    market("binance:spot:AUSDT", "A"),
    market("binance:perp:BUSDT", "B"),
    market("bybit:perp:ABTC", "A", quote="BTC", aggregated=False),
]
FEEDS = ("binance", "bybit")
# Minutes on both sides of the bounds of all steps, so that windows touch several buckets of each.
MINUTES = (0, 1, 4, 5, 14, 15, 59, 60, 239, 240, 1438, 1439, 1440, 1441)
LATER = 1500
OBSERVED = ("price", "vol24h_usd", "oi_usd", "oi_base", "funding_8h")
FLOWS = ("volume_usd", "taker_buy_usd", "taker_sell_usd", "liq_long_usd", "liq_short_usd")
CANDLE = ("open", "high", "low", "close")
# From one case to the next: all that a case touches lies within two days, so that no bucket has minutes of two cases.
APART = 3 * 1440
TIMES = ("minute_ms", "tick_ms", "ts")
Facts = dict[str, list[Row]]
Tier = dict[tuple[Any, ...], dict[str, Any]]

prices = st.integers(1, 10**4).map(lambda n: n / 64)
amounts = st.none() | st.integers(0, 10**6).map(lambda n: n / 64)


@st.composite
def recorded(draw: st.DrawFn) -> tuple[Facts, list[list[int]]]:
    """Facts of some minutes, some of them late, and an order of windows that builds them all."""
    facts: Facts = defaultdict(list)
    minutes = draw(st.lists(st.sampled_from(MINUTES), min_size=4, max_size=9, unique=True))
    for minute in minutes:
        at = T0 + minute * MINUTE
        facts["int_response_minutes"].append(response(at, "binance", "perp_tickers"))
        for venue in draw(st.sets(st.sampled_from(FEEDS))):
            facts["int_stream_minutes"].append(stream(at, venue, draw(st.sampled_from([0, 1, MINUTE]))))
        for identity in draw(st.lists(st.sampled_from(MARKETS), unique_by=lambda row: row["market_id"])):
            seen = {name: draw(amounts) for name in OBSERVED}
            facts["int_market_minutes"].append({"minute_ms": at, **identity, **seen})
    instants = [*minutes, *(LATER + n for n in range(draw(st.integers(0, 3))))]
    for at in instants[len(minutes) :]:
        facts["int_response_minutes"].append(response(T0 + at * MINUTE, "binance", "perp_bars"))
    bars = st.tuples(st.sampled_from(MINUTES), st.sampled_from(MARKETS))
    for minute, identity in draw(st.lists(bars, max_size=8, unique_by=lambda bar: (bar[0], bar[1]["market_id"]))):
        # A bar comes with any later minute of the list: one minute after, or by the hourly catch-up.
        if later := [at for at in instants if at > minute]:
            asked = draw(st.sampled_from(later))
            flows = {name: draw(amounts) for name in FLOWS[:3]}
            when = {"minute_ms": T0 + minute * MINUTE, "tick_ms": T0 + asked * MINUTE}
            low, first, last, high = sorted(draw(st.tuples(prices, prices, prices, prices)))
            candle = dict(zip(CANDLE, (first, high, draw(st.none() | st.just(low)), last), strict=True))
            facts["int_market_bars"].append({**when, **identity, **flows, **candle})
    perps = [identity for identity in MARKETS if identity["type"] == "perp"]
    for at in draw(st.lists(st.sampled_from(instants), max_size=6)):
        identity = draw(st.sampled_from(perps))
        keys = {key: identity[key] for key in ("market_id", "venue", "symbol", "base", "aggregated")}
        ts = T0 + at * MINUTE + draw(st.integers(-MINUTE, MINUTE - 1))
        event = {"tick_ms": T0 + at * MINUTE, "ts": ts, "side": draw(st.sampled_from(["long", "short"]))}
        facts["int_liquidations"].append({**event, **keys, "usd": draw(amounts)})
    order = draw(st.permutations(instants))
    cuts = sorted(draw(st.sets(st.integers(1, len(order)), max_size=3)) | {0, len(order)})
    windows = [list(order[start:end]) for start, end in pairwise(cuts)]
    again = draw(st.sampled_from(windows))
    return facts, [*windows, again]


def side_by_side(cases: list[tuple[Facts, list[list[int]]]]) -> tuple[Facts, list[list[int]]]:
    """Cases in one warehouse, days apart: each keeps its own facts and its own order, and a build has a window of
    each."""
    together: Facts = defaultdict(list)
    orders = []
    for number, (facts, windows) in enumerate(cases):
        later = number * APART
        for table, rows in facts.items():
            for row in rows:
                moved = {time: row[time] + later * MINUTE for time in TIMES if time in row}
                together[table].append({**row, **moved})
        orders.append([[at + later for at in window] for window in windows])
    return together, [list(chain(*windows)) for windows in zip_longest(*orders, fillvalue=[])]


def property_of(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many drawn examples, the same in each run. The first is the simplest one there is."""
    return settings(
        max_examples=examples, deadline=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip


FIVE = st.lists(recorded(), min_size=5, max_size=5).map(side_by_side)


@property_of(2)
@given(case=FIVE)
def test_tiers_made_by_their_first_window_equal_a_recomputation(
    case: tuple[Facts, list[list[int]]], tmp_path: Path
) -> None:
    """An example is five cases, each with facts and an order of its own."""
    tiers_equal_a_recomputation(Warehouse(tmp_path), *case)


@property_of(3)
@given(case=FIVE)
def test_tiers_equal_a_recomputation_in_any_order_of_builds(
    case: tuple[Facts, list[list[int]]], tmp_path: Path
) -> None:
    """An example is five cases, each with facts and an order of its own."""
    tiers_equal_a_recomputation(Warehouse(tmp_path, built=True), *case)


def tiers_equal_a_recomputation(warehouse: Warehouse, facts: Facts, windows: list[list[int]]) -> None:
    warehouse.add("instruments", [instrument(identity) for identity in MARKETS])
    built: set[int] = set()
    for window in windows:
        # A window finds what its minutes and those before it brought, as the intermediate layer leaves it.
        for table, rows in facts.items():
            key = "minute_ms" if table == "int_market_minutes" else "tick_ms"
            fresh = {T0 + at * MINUTE for at in window if at not in built}
            warehouse.add(table, [row for row in rows if row[key] in fresh])
        built.update(window)
        # Ratios and books have tiers of their own (test_positioning.py).
        others = ("series_ratios_*", "series_venue_ratios_*", "series_depth_*")
        warehouse.build([T0 + at * MINUTE for at in window], folder="series", without=others)
    tier = minutes_of(facts)
    for step, width in STEPS.items():
        tier = tier if step == "1m" else rolled_up(minutes_of(facts), width * MINUTE)
        stored = warehouse.records(f"from series_market_{step}")
        assert_same({(row["t"], row["market_id"]): row for row in stored}, tier, len(stored))
        together = f"select *, 'all' as venue from series_base_{step} union all by name from series_venue_{step}"
        stored = warehouse.records(together)
        coins = {(row["t"], row["base"], row["type"], row["venue"]): row for row in stored}
        assert_same(coins, by_coin(tier), len(stored))


def assert_same(found: Tier, expected: Tier, rows: int) -> None:
    assert rows == len(found), "a key occurs twice"
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        for column, value in row.items():
            same = found[key][column]
            if isinstance(value, float) and same is not None:
                assert math.isclose(same, value, rel_tol=1e-12, abs_tol=1e-12), (key, column, same, value)
            else:
                assert same == value, (key, column, same, value)


def total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if known else None


def mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Weighted mean of (value, weight)."""
    known = [(value, weight) for value, weight in pairs if value is not None and weight is not None and weight > 0]
    return sum(value * weight for value, weight in known) / sum(weight for _, weight in known) if known else None


def minutes_of(facts: Facts) -> Tier:
    """The 1-minute market tier, said once more in plain words."""
    tier: Tier = {}
    identities = {identity["market_id"]: identity for identity in MARKETS}

    def row(minute: int, market_id: str) -> dict[str, Any]:
        empty = {**dict.fromkeys((*OBSERVED, *FLOWS, *CANDLE)), "funding_n": 0, "candle_n": 0}
        return tier.setdefault((minute, market_id), {"t": minute, **identities[market_id], **empty})

    for fact in facts["int_market_minutes"]:
        row(fact["minute_ms"], fact["market_id"]).update({name: fact[name] for name in OBSERVED})
    for fact in facts["int_market_bars"]:
        row(fact["minute_ms"], fact["market_id"]).update({name: fact[name] for name in FLOWS[:3]})
        if all(fact[name] is not None for name in CANDLE):
            row(fact["minute_ms"], fact["market_id"]).update({name: fact[name] for name in CANDLE}, candle_n=1)
    events = defaultdict(list)
    for fact in facts["int_liquidations"]:
        minute = fact["ts"] - fact["ts"] % MINUTE
        row(minute, fact["market_id"])
        events[minute, fact["market_id"], fact["side"]].append(fact["usd"])
    listened = {(fact["tick_ms"], fact["venue"]) for fact in facts["int_stream_minutes"] if fact["connected_ms"] > 0}
    for (minute, market_id), values in tier.items():
        values["funding_n"] = int(values["funding_8h"] is not None)
        for side in ("long", "short"):
            seen = events.get((minute, market_id, side))
            silent = 0.0 if values["type"] == "perp" and (minute, values["venue"]) in listened else None
            values[f"liq_{side}_usd"] = total(seen) if seen else silent
    return tier


def rolled_up(minutes: Tier, width: int) -> Tier:
    """A coarser market tier, straight from the minutes."""
    groups = defaultdict(list)
    for (minute, market_id), row in sorted(minutes.items()):
        groups[minute - minute % width, market_id].append(row)
    return {
        (start, market_id): {
            **rows[-1],
            "t": start,
            **{name: next((r[name] for r in reversed(rows) if r[name] is not None), None) for name in OBSERVED[:4]},
            **{name: total(r[name] for r in rows) for name in FLOWS},
            "funding_8h": mean((r["funding_8h"], 1) for r in rows),
            "funding_n": sum(r["funding_n"] for r in rows),
            **candle_of([r for r in rows if r["candle_n"]]),
        }
        for (start, market_id), rows in groups.items()
    }


def candle_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The candle of minutes that have one, in their order."""
    if not rows:
        return {**dict.fromkeys(CANDLE), "candle_n": 0}
    highest, lowest = max(row["high"] for row in rows), min(row["low"] for row in rows)
    prices = {"open": rows[0]["open"], "high": highest, "low": lowest, "close": rows[-1]["close"]}
    return {**prices, "candle_n": len(rows)}


def by_coin(tier: Tier) -> Tier:
    """The base tier of a market tier."""
    groups = defaultdict(list)
    for (start, _), row in tier.items():
        if row["aggregated"]:
            for kind in (row["type"], "all"):
                for venue in (row["venue"], "all"):
                    groups[start, row["base"], kind, venue].append(row)
    return {
        key: {
            "price": price_of(rows),
            "oi_usd": total(r["oi_usd"] for r in rows),
            "funding_8h": mean((r["funding_8h"], r["oi_usd"]) for r in rows),
            **{name: total(r[name] for r in rows) for name in FLOWS},
            "n_markets": len(rows),
        }
        for key, rows in groups.items()
    }


def price_of(rows: list[dict[str, Any]]) -> float | None:
    weighted = mean((row["price"], row["vol24h_usd"]) for row in rows)
    return mean((row["price"], 1) for row in rows) if weighted is None else weighted
