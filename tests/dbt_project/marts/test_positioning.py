"""The tiers of ratios and of order books against a recomputation from the facts, whatever the order of the builds."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orchestration.warehouse.trim import trim_warehouse
from tests.support.facts.mart_facts import MINUTE, T0, Warehouse, instrument, market
from tests.support.pipeline import kept_open
from tests.support.pipeline.pipeline_home import note_days, settings_for

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
MARKETS = [market("binance:perp:AUSDT", "A"), market("bybit:perp:ABTC", "A", quote="BTC", aggregated=False)]
KINDS = ("accounts", "top_acct", "top_pos", "taker_buy")
STEPS = {"5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR, "4h": 4 * HOUR, "1d": DAY, "3d": 3 * DAY}
# Buckets on both sides of the bounds of all steps, and when they are reported: within minutes, or much later.
REPORTED_AT = {5 * MINUTE: (0, 5, 10, 15, 55, 60, 235, 240, 1435, 1440), HOUR: (0, 60, 240, 1380, 1440), DAY: (0, 1440)}
MINUTES = (10, 60, 240, 1441, 1500, 9000, 9001)
COLUMNS = ("accounts", "top_acct", "top_pos", "taker_buy_size", "taker_sell_size")
TABLES = ("--exclude", "config.materialized:view_in_place", "series_base_*")
Row = dict[str, Any]


class Fact(NamedTuple):
    """A reported row: `period`, `t` and `minute` in ms; a long fraction, or the taker buy and sell sizes."""

    market_id: str
    kind: str
    period: int
    t: int
    at: int
    values: tuple[float, float]

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self[:4]

    def row(self) -> Row:
        identity = next(identity for identity in MARKETS if identity["market_id"] == self.market_id)
        row = {"market_id": self.market_id, "kind": self.kind, "period_ms": self.period, "t": self.t}
        row |= {
            "venue": identity["venue"],
            "symbol": identity["symbol"],
            "base": identity["base"],
            "tick_ms": self.at,
        }
        row["source"] = "recorded" if self.period < HOUR else "backfilled"
        if self.kind == "taker_buy":
            return {**row, "taker_buy_base": self.values[0], "taker_sell_base": self.values[1]}
        return {**row, "long_fraction": self.values[0]}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with every table and view of the series, without rows."""
    warehouse = Warehouse(tmp_path_factory.mktemp("empty"), built=True)
    warehouse.add("instruments", [instrument(identity) for identity in MARKETS])
    return warehouse.path


def beginning(empty: Path, folder: Path) -> Warehouse:
    """That warehouse in a folder of its own, whatever lay there."""
    warehouse = Warehouse(folder)
    kept_open.copy(empty, warehouse.path)
    return warehouse


sizes = st.tuples(st.integers(0, 64).map(lambda n: n / 64), st.integers(0, 64).map(lambda n: n / 64))


@st.composite
def reported(draw: st.DrawFn) -> tuple[list[Fact], list[tuple[int, str, float, float]], list[list[int]]]:
    """Rows of ratios, some reported twice; order books; and an order of windows that builds all of them."""
    facts = []
    for period, minutes in REPORTED_AT.items():
        which = st.tuples(st.sampled_from(minutes), st.sampled_from(MARKETS), st.sampled_from(KINDS))
        for minute, identity, kind in draw(st.lists(which, min_size=4, max_size=16)):
            at = draw(st.sampled_from(MINUTES))
            place = (identity["market_id"], kind, period, T0 + minute * MINUTE)
            facts.append(Fact(*place, T0 + at * MINUTE, draw(sizes)))
    books = st.tuples(st.sampled_from(MINUTES), st.sampled_from(MARKETS))
    chosen = draw(st.lists(books, max_size=8, unique_by=lambda book: (book[0], book[1]["market_id"])))
    found = [(T0 + at * MINUTE, identity["market_id"], *draw(sizes)) for at, identity in chosen]
    order = [T0 + at * MINUTE for at in draw(st.permutations(MINUTES))]
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1), max_size=3)) | {0, len(order)})
    windows = [order[start:end] for start, end in pairwise(cuts)]
    return facts, found, [*windows, draw(st.sampled_from(windows))]


@pytest.mark.requirement("series:positioning:restated")
@settings(
    max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(case=reported())
def test_tiers_equal_a_recomputation_in_any_order_of_builds(
    case: tuple[list[Fact], list[tuple[int, str, float, float]], list[list[int]]], tmp_path: Path, empty: Path
) -> None:
    facts, books, windows = case
    warehouse = beginning(empty, tmp_path)
    built: set[int] = set()
    for window in windows:
        fresh = set(window) - built
        insert_ratios(warehouse, [fact for fact in facts if fact.at in fresh])
        shelve(warehouse, [book for book in books if book[0] in fresh])
        built.update(window)
        warehouse.window(window)
        warehouse.dbt("run", "--select", "series_ratios_*", "series_depth_*", *TABLES)
    stands = {fact.key: fact for fact in sorted(facts, key=lambda fact: fact.at)}.values()
    for step, width in STEPS.items():
        found = warehouse.records(f"from series_ratios_{step}")
        assert {(row["t"], row["market_id"]): {name: row[name] for name in COLUMNS} for row in found} == {
            place: {name: row[name] for name in COLUMNS} for place, row in ratios_of(stands, width).items()
        }, step
        assert len(found) == len(ratios_of(stands, width))
        assert all(row["aggregated"] == (row["venue"] == "binance") for row in found)
        last = {(at - at % width, market_id): rest for at, market_id, *rest in sorted(books)}
        depth = warehouse.rows(f"select t, market_id, bid_usd, ask_usd from series_depth_{step}")
        assert sorted(depth) == sorted((*place, *rest) for place, rest in last.items()), step


def insert_ratios(warehouse: Warehouse, facts: Iterable[Fact]) -> None:
    """Ratios as int_ratios has them after a window: of a bucket that was reported twice, the later row counts."""
    with warehouse.connect() as con:
        for fact in sorted(facts, key=lambda fact: fact.at):
            where = "where market_id = ? and kind = ? and period_ms = ? and t = ?"
            if con.execute(f"select 1 from int_ratios {where} and tick_ms > ?", [*fact.key, fact.at]).fetchone():
                continue
            con.execute(f"delete from int_ratios {where}", list(fact.key))
            row = fact.row()
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            con.execute(f"insert into int_ratios ({names}) values ({marks})", list(row.values()))


def shelve(warehouse: Warehouse, books: Iterable[tuple[int, str, float, float]]) -> None:
    """Books as int_book_depth has them, with a narrower band beside the one of 1 %."""
    known = ("band_pct: ?::double", "bid_usd: ?::double", "ask_usd: ?::double")
    band = f"{{{', '.join(known)}, bid_truncated: true, ask_truncated: true}}"
    with warehouse.connect() as con:
        for at, market_id, bid, ask in books:
            con.execute(
                "insert into int_book_depth (tick_ms, market_id, venue, symbol, base, depth) "
                f"values (?, ?, ?, ?, 'A', [{band}, {band}])",
                [at, market_id, *market_id.split(":")[::2], 0.5, 99, 99, 1, bid, ask],
            )


def ratios_of(facts: Iterable[Fact], width: int) -> dict[tuple[int, str], Row]:
    """A tier from the reported rows: last long fractions, sums of sizes, each of the shortest period that has any."""
    tier: dict[tuple[int, str], Row] = {}
    parts = defaultdict(list)
    for fact in facts:
        if fact.period <= width:
            parts[fact.t - fact.t % width, fact.market_id, fact.kind].append(fact)
    for (t, market_id, kind), cell in parts.items():
        row = tier.setdefault((t, market_id), dict.fromkeys(COLUMNS))
        standing = [fact for fact in cell if not any(inside(other, fact) for other in cell)]
        if kind == "taker_buy":
            row["taker_buy_size"], row["taker_sell_size"] = (
                sum(fact.values[side] for fact in standing) for side in (0, 1)
            )
        else:
            row[kind] = max(standing, key=lambda fact: fact.t).values[0]
    return tier


def inside(one: Fact, other: Fact) -> bool:
    """True if their periods overlap."""
    return one.period < other.period and other.t <= one.t < other.t + other.period


@pytest.mark.requirement("series:positioning:restated")
def test_open_interest_that_comes_late_restates_its_buckets(tmp_path: Path, empty: Path) -> None:
    """A long fraction of a 5-minute bucket arrives before the minutes of that bucket."""
    warehouse = beginning(empty, tmp_path)
    insert_ratios(warehouse, [Fact(MARKETS[0]["market_id"], "accounts", 5 * MINUTE, T0, T0 + 5 * MINUTE, (0.75, 0))])
    for at, held in ((5, None), (1, 100.0), (3, 300.0), (2, 200.0)):
        observed = {"minute_ms": T0 + at * MINUTE, **MARKETS[0], "oi_usd": held}
        warehouse.add("int_market_minutes", [observed] if held else [])
        warehouse.build([T0 + at * MINUTE], *TABLES, folder="series")
        newest = 300.0 if at == 2 else held
        for step in STEPS:
            assert warehouse.rows(f"select oi_usd from series_ratios_{step}") == [(newest,)], (at, step)


@pytest.mark.requirement("series:positioning:kept")
def test_recorded_hours_are_kept_when_the_finer_tier_is_trimmed(tmp_path: Path, empty: Path) -> None:
    """An hour was recorded, its 5-minute rows are trimmed, and then a backfill brings the same hour."""
    settings_ = settings_for(tmp_path)
    warehouse = beginning(empty, tmp_path)
    assert str(warehouse.path) == settings_.warehouse
    name = MARKETS[0]["market_id"]
    recorded = [
        Fact(name, "accounts", 5 * MINUTE, T0 + 5 * MINUTE, T0 + 10 * MINUTE, (0.25, 0)),
        Fact(name, "taker_buy", 5 * MINUTE, T0 + 5 * MINUTE, T0 + 10 * MINUTE, (1, 3)),
    ]
    insert_ratios(warehouse, recorded)
    warehouse.build([T0 + 10 * MINUTE], *TABLES, folder="series")
    later = T0 + 40 * DAY
    kept_open.close(warehouse.path)
    note_days(settings_.warehouse, later)
    trim_warehouse(settings_, later)
    assert warehouse.rows("select (select count(*) from series_ratios_5m), (select count(*) from int_ratios)") == [
        (0, 0)
    ]
    history = [
        Fact(name, kind, HOUR, t, later, values)
        for t in (T0, T0 + HOUR)
        for kind, values in (("accounts", (0.75, 0)), ("top_pos", (0.5, 0)), ("taker_buy", (9, 9)))
    ]
    insert_ratios(warehouse, history)
    columns = "accounts, top_pos, taker_buy_size, taker_sell_size, source"
    for _ in range(2):
        warehouse.build([later], *TABLES, folder="series")
        assert warehouse.rows(f"select {columns} from series_ratios_1h order by t") == [
            (0.25, 0.5, 1, 3, "mixed"),
            (0.75, 0.5, 9, 9, "backfilled"),
        ]
        assert warehouse.rows("select accounts, taker_buy_size, source from series_ratios_1d") == [(0.75, 10, "mixed")]
