"""Daily indices against plain Python, days that late data must not change, and when statistics are built."""

import random
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestration.warehouse.transform import build
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import Window, triggers_of
from tests.support.facts.mart_facts import T0, Row, Warehouse, market, response
from tests.support.pipeline import kept_open
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import land_minutes, settings_for, tables
from tests.support.pipeline.warehouse import give_built

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
LAST = 140  # the newest whole day of the facts
NOW = T0 + (LAST + 1) * DAY + 12 * HOUR
COINS = [f"C{number:02}" for number in range(60)]
GONE, YOUNG = "C00", "C01"
VENUES = ("binance", "bybit", "okx")
INDICES = ("altcoin_season_coins", "altcoin_season", "fear_greed")


class Facts:
    """Days of 60 coins and BTC on three venues, by chance, with holes; one coin is delisted, one is listed late."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.bases: list[Row] = []
        self.perps: list[Row] = []
        self.ratios: list[Row] = []
        for number, base in enumerate(["BTC", *COINS]):
            price, volume = 100.0, 1e6 * chance.random() + (1e9 if base in (GONE, YOUNG) else 0)
            for day in range(LAST + 2):
                t = T0 + day * DAY
                price *= 1 + chance.gauss(0, 0.05)
                listed = not (base == GONE and day > 120) and not (base == YOUNG and day < 60)
                if not listed or (number and chance.random() < 0.02):
                    continue
                # Every third coin has perps alone.
                for kind, factor in (("spot", 1.0), ("perp", 1.01), ("all", 1.005)):
                    if kind != "spot" or number % 3:
                        usd = volume * chance.uniform(0.5, 1.5)
                        row = {"t": t, "base": base, "type": kind, "price": price * factor, "volume_usd": usd}
                        self.bases.append({**row, "n_markets": 1, "source": "recorded"})
                for venue in VENUES:
                    identity = market(f"{venue}:perp:{base}USDT", base)
                    known = chance.random() > 0.1
                    row = {
                        **identity, "t": t, "price": price, "volume_usd": volume, "funding_n": 1, "source": "recorded",
                        "oi_usd": volume * chance.uniform(0.9, 1.1) if known else None,
                        "funding_8h": chance.gauss(1e-4, 1e-4) if chance.random() > 0.1 else None,
                        "liq_long_usd": chance.random() if venue != "okx" else None,
                        "liq_short_usd": chance.random() if venue != "okx" else None,
                    }  # fmt: skip
                    self.perps.append(row)
                    if chance.random() < 0.5:
                        names = ("t", "market_id", "venue", "base", "aggregated", "oi_usd", "source")
                        self.ratios.append({name: row[name] for name in names} | {"accounts": chance.random()})

    def warehouse(self, folder: Path) -> Warehouse:
        built = Warehouse(folder, built=True)
        built.add_many("series_base_1d", self.bases)
        built.add_many("series_market_1d", self.perps)
        built.add_many("series_ratios_1d", self.ratios)
        return built


def run(warehouse: Warehouse, now_ms: int) -> None:
    """The statistics of the hour that a minute is in."""
    warehouse.add("int_response_minutes", [response(now_ms, "binance", "perp_tickers")])
    warehouse.build([now_ms], folder="gaps")
    warehouse.dbt("run", "--select", *INDICES)


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(11)


@pytest.fixture(scope="module")
def untouched(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The facts, before any statistic was made of them."""
    return facts.warehouse(tmp_path_factory.mktemp("facts")).path


@pytest.fixture
def fresh(untouched: Path, tmp_path: Path) -> Warehouse:
    made = Warehouse(tmp_path)
    kept_open.copy(untouched, made.path)
    return made


@pytest.fixture(scope="module")
def computed(untouched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The facts and their statistics."""
    made = Warehouse(tmp_path_factory.mktemp("computed"))
    kept_open.copy(untouched, made.path)
    run(made, NOW)
    return made.path


@pytest.fixture
def warehouse(computed: Path, tmp_path: Path) -> Warehouse:
    made = Warehouse(tmp_path)
    kept_open.copy(computed, made.path)
    return made


def midrank(value: float, past: list[float]) -> float:
    return 100 * (sum(x < value for x in past) + sum(x == value for x in past) / 2) / len(past)


def readings(facts: Facts) -> dict[int, dict[str, float | None]]:
    """The four readings of each day, by their definitions."""
    perps = {(row["t"], row["market_id"]): row for row in facts.perps}
    found: dict[int, dict[str, float | None]] = {}
    for day in range(LAST + 2):
        t = T0 + day * DAY
        of_day = [row for row in facts.perps if row["t"] == t]
        paid = [(row["funding_8h"], row["oi_usd"]) for row in of_day if None not in (row["funding_8h"], row["oi_usd"])]
        both = [
            (row["oi_usd"], before["oi_usd"])
            for row in of_day
            if (before := perps.get((t - 7 * DAY, row["market_id"]))) and None not in (row["oi_usd"], before["oi_usd"])
        ]
        longs, shorts = (sum(row[f"liq_{side}_usd"] or 0 for row in of_day) for side in ("long", "short"))
        held: dict[str, float] = {}
        for row in of_day:
            if row["oi_usd"] is not None:
                held[row["base"]] = held.get(row["base"], 0) + row["oi_usd"]
        shares: dict[str, list[float]] = {}
        for row in facts.ratios:
            # One perp a coin and venue: its own share, whatever is held.
            if row["t"] == t and row["venue"] in ("binance", "bybit"):
                shares.setdefault(row["base"], []).append(row["accounts"])
        top = sorted((base for base in shares if base in held), key=lambda base: (-held[base], base))[:20]
        found[t] = {
            "funding": sum(f * w for f, w in paid) / sum(w for _, w in paid),
            "oi": sum(a for a, _ in both) / sum(b for _, b in both) - 1 if both else None,
            "ls": sum(statistics.mean(shares[base]) * held[base] for base in top) / sum(held[base] for base in top),
            "liq": shorts / (shorts + longs),
        }
    return found


@pytest.mark.requirement("fear-greed:recomputed")
def test_fear_and_greed_equals_a_plain_recomputation(facts: Facts, warehouse: Warehouse) -> None:
    expected = readings(facts)
    found = warehouse.records("from fear_greed order by t")
    assert [row["t"] for row in found] == sorted(expected)
    for row in found:
        mine = expected[row["t"]]
        ranks = {}
        for name, value in mine.items():
            assert row[name] == (None if value is None else pytest.approx(value, rel=1e-12)), (row["t"], name)
            past = [
                other[name]
                for other in found
                if row["t"] - 365 * DAY <= other["t"] < row["t"] and other[name] is not None
            ]
            if row[name] is not None and len(past) >= 30:
                ranks[name] = midrank(row[name], past)
            assert row[f"{name}_percentile"] == ranks.get(name), (row["t"], name)
        assert row["final"] == (row["t"] < NOW // DAY * DAY)
        if not ranks:
            assert (row["exact"], row["value"], row["label"]) == (None, None, None)
            continue
        exact = sum(ranks.values()) / len(ranks)
        assert row["exact"] == pytest.approx(exact, rel=1e-12)
        assert row["value"] == int(row["exact"] + 0.5)
        bands = ((24, "Extreme Fear"), (44, "Fear"), (55, "Neutral"), (75, "Greed"), (100, "Extreme Greed"))
        assert row["label"] == next(name for most, name in bands if row["value"] <= most)
    assert len({row["label"] for row in found}) >= 4


@pytest.mark.requirement("altcoin:delisted")
def test_a_day_keeps_the_coins_of_its_own_ranking(facts: Facts, warehouse: Warehouse) -> None:
    """A coin that is gone was first while it was traded; one without 90 days is named, and counts later."""
    rows = warehouse.records("select (t - ?) // ? as day, * from altcoin_season_coins order by t, rank", T0, DAY)
    ranks = {(row["day"], row["base"]): row for row in rows}
    traded = {(row["t"] - T0) // DAY for row in facts.bases if row["base"] == GONE}
    assert {day for day, base in ranks if base == GONE} == traded
    assert all(ranks[day, GONE]["rank"] <= 2 for day in traded)
    for day, base in ranks:
        if base == YOUNG:
            assert ranks[day, base]["excluded_reason"] == ("young" if (day - 90, YOUNG) not in ranks else None)
    closes: dict[tuple[int, str], dict[str, float]] = {}
    for row in facts.bases:
        closes.setdefault(((row["t"] - T0) // DAY, row["base"]), {})[row["type"]] = row["price"]
    days = {row["day"]: row for row in warehouse.records("select (t - ?) // ? as day, * from altcoin_season", T0, DAY)}
    assert sorted(days) == list(range(LAST + 1))
    for day, index in days.items():
        members = [row for row in rows if row["day"] == day and row["rank"]]
        assert [row["rank"] for row in members] == list(range(1, 51))
        for row in members:
            spot = closes[day, row["base"]]
            assert row["close"] == spot.get("spot", spot["perp"])
        returns = {
            row["base"]: row["close"] / past.get("spot", past["perp"]) - 1
            for row in [*members, ranks[day, "BTC"]]
            if (past := closes.get((day - 90, row["base"])))
        }
        beat = sum(value > returns["BTC"] for base, value in returns.items() if base != "BTC")
        counted = len(returns) - 1 if returns else 0
        assert (index["n_coins"], index["n_beat_btc"]) == (max(counted, 0), beat)
        assert index["value"] == (100 * beat / counted if counted >= 10 else None)


@pytest.mark.requirement("statistics:final")
def test_completed_days_do_not_change(warehouse: Warehouse) -> None:
    """All history is published again after the days were written: a day later only the new day is added."""
    before = {table: warehouse.rows(f"from {table} where final order by all") for table in INDICES}
    assert all(before.values())
    for table, columns in (
        ("series_base_1d", "price = price * (1 + hash(base) % 9), volume_usd = (hash(t, base) % 1000)::double"),
        ("series_market_1d", "oi_usd = (hash(t, market_id) % 1000)::double, funding_8h = 1, liq_short_usd = 5"),
        ("series_ratios_1d", "accounts = 0.9"),
    ):
        warehouse.write(f"update {table} set {columns}")
    # A missing day that is backfilled later is written; the ranks of other days do not change.
    run(warehouse, NOW)
    for table, rows in before.items():
        assert warehouse.rows(f"from {table} where final order by all") == rows, table
    run(warehouse, NOW + DAY)
    today = NOW // DAY * DAY
    for table, rows in before.items():
        assert warehouse.rows(f"from {table} where final and t < {today} order by all") == rows, table
        assert warehouse.rows(f"select distinct t from {table} where final and t >= {today}") == [(today,)], table


def test_days_are_final_once_the_backfill_is_complete(fresh: Warehouse) -> None:
    """While a backfill is under way, days are provisional and are rewritten; so is the current day."""
    warehouse = fresh
    warehouse.add("int_history_bars", [{"market_id": "m", "step": "1d", "t": 0, "tick_ms": NOW - 5 * MINUTE}])
    run(warehouse, NOW)
    assert warehouse.rows("select distinct final from altcoin_season union select final from fear_greed") == [(False,)]
    first = warehouse.rows("select count(value) from altcoin_season")
    warehouse.write("delete from series_base_1d where base = 'BTC' and t < " + str(T0 + 40 * DAY))
    run(warehouse, NOW + 6 * MINUTE)
    assert warehouse.rows("select count(value) from altcoin_season") != first
    assert warehouse.rows("select distinct final from altcoin_season") == [(True,)]
    assert warehouse.rows("select t from fear_greed where not final") == [(NOW // DAY * DAY,)]


def test_days_do_not_stand_while_the_past_is_fetched(fresh: Warehouse) -> None:
    """Nothing came for long, and the fetching is not over: a machine slept, or the network was gone."""
    for fetching, final in (("true", [(False,)]), ("false", [(True,)])):
        fresh.note(fetching=fetching)
        run(fresh, NOW)
        assert fresh.rows("select distinct final from altcoin_season") == final


def window(tick_ms: int) -> Window:
    return Window((tick_ms,), (), (), (), tick_ms, more=False, started_ms=0)


@pytest.mark.requirement("statistics:once")
def test_triggers() -> None:
    """A step begins once, five minutes late for an hour; a window of the past begins nothing."""
    with duckdb.connect() as con:
        prepare(con)
        assert triggers_of(con, window(T0), set()) == {"recorded", "every_5m", "every_1h"}
        more = replace(window(T0), more=True)
        assert "after_history" not in triggers_of(con, more, {"history_perp_bars"}, fetched=True)
        waiting = replace(window(T0), past=True)
        con.execute("insert into pipeline.settings values ('history', 'landed')")
        assert "after_history" not in triggers_of(con, waiting, {"perp_bars"})

        def after(built: int, at: int, *endpoints: str, before: str = "none", fetched: bool = False) -> set[str]:
            con.execute("delete from pipeline.builds; delete from pipeline.settings")
            con.execute("insert into pipeline.builds values (1, 0, 0, 0, ?, [])", [[T0 + built * MINUTE]])
            con.execute("insert into pipeline.settings values ('history', ?)", [before])
            found = triggers_of(con, window(T0 + at * MINUTE), set(endpoints), fetched)
            assert "recorded" in found
            return found - {"recorded"}

        assert after(59, 60) == {"every_5m"}
        assert after(60, 64) == set()
        assert after(64, 65) == {"every_5m", "every_1h"}
        assert after(65, 66) == set()
        assert after(65, 10) == set()
        assert after(66, 300) == {"every_5m", "every_1h"}
        for past in ("history_perp_bars", "open_interest_history"):
            assert after(66, 67, past, before="landed") == set()
            assert after(66, 67, past, before="landed", fetched=True) == {"after_history"}
        assert after(66, 67, "perp_bars", fetched=True) == set()
        assert after(66, 67, "perp_bars", before="landed", fetched=True) == {"after_history"}
        # While history comes, what is built hourly is built after 4, 8, 16 minutes too.
        rounds = [(2, 3, False), (3, 4, True), (5, 7, False), (7, 8, True), (9, 33, True), (66, 67, False)]
        for built, at, fires in rounds:
            con.execute("delete from pipeline.builds; delete from pipeline.settings")
            con.execute("insert into pipeline.builds values (1, 0, 0, 0, ?, [])", [[T0]])
            con.execute("insert into pipeline.builds values (2, 0, 0, 0, ?, [])", [[T0 + built * MINUTE]])
            found = triggers_of(con, window(T0 + at * MINUTE), {"history_perp_bars"})
            assert ("every_1h" in found) == fires, at
            assert "every_1h" not in triggers_of(con, window(T0 + at * MINUTE), {"perp_bars"})
            con.execute("insert into pipeline.settings values ('history', 'landed')")
            assert ("after_history" in triggers_of(con, window(T0 + at * MINUTE), {"perp_bars"})) == fires, at
        # Beside a recorder a window has backfilled rows alone, and its rounds follow from the one before it,
        # unless that is in the future, by a clock that was ahead.
        alone = replace(window(T0 + 8 * MINUTE), backfilled_only=True)
        con.execute("delete from pipeline.builds; delete from pipeline.settings")
        con.execute("insert into pipeline.builds values (1, 0, 0, 0, ?, [])", [[T0, T0 + 8 * MINUTE]])
        assert triggers_of(con, alone, {"history_perp_bars"}) == {"every_1h"}
        for minutes, fired in ((10**9, {"every_1h"}), (7, {"every_1h"}), (8, set())):
            con.execute("delete from pipeline.settings")
            con.execute("insert into pipeline.settings values ('past_ms', ?)", [str(T0 + minutes * MINUTE + 9)])
            assert triggers_of(con, alone, {"history_perp_bars"}) == fired
        assert triggers_of(con, alone, {"history_perp_bars"}, fetched=True) == {"after_history"}
        # A clock that was ahead for a while built a minute that is still to come.
        ahead = (time.time_ns() // 1_000_000 - T0) // MINUTE + 1440
        assert after(ahead, 300) == {"every_5m", "every_1h"}


@pytest.mark.requirement("statistics:once")
def test_hourly_statistics_are_not_built_every_minute(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    give_dbt(settings)
    give_built(settings)
    made: list[Any] = []
    for minute in (3, 4, 5):
        land_minutes(settings, [T0 + minute * MINUTE])
        build(settings, report=lambda text: None)
        made.append(tables(settings.warehouse, ["fear_greed"])["fear_greed"])
    assert made[0] == made[1]
    assert made[1] != made[2]
