"""The marts on hand-written facts: dbt's own tests, contracts, live tables, gaps, and what a late row restates."""

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt.contracts.graph.nodes import ModelNode

from tests.support.facts.mart_facts import MINUTE, STEPS, T0, Warehouse, instrument, market, response, stream
from tests.support.pipeline.dbt_project import PROJECT, manifest, served

BTC = market("binance:perp:BTCUSDT", "BTC")
HYPE = market("hyperliquid:perp:BTC", "BTC", quote="USDC")
SERIES = tuple(f"series_{kind}_{step}" for kind in ("market", "base") for step in STEPS)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path, built=True)


def observe(warehouse: Warehouse, minutes: list[int], identity: dict[str, Any] = BTC, **values: Any) -> None:
    observed = {"price": 100.0, "vol24h_usd": 10.0, "oi_usd": 50.0, "oi_base": 0.5, "funding_8h": 0.0001, **values}
    warehouse.add("int_market_minutes", ({"minute_ms": T0 + m * MINUTE, **identity, **observed} for m in minutes))
    for m in minutes:
        warehouse.add("int_response_minutes", [response(T0 + m * MINUTE, identity["venue"], "perp_tickers")])


def bar(minute: int, at: int, volume: float, identity: dict[str, Any] = BTC) -> dict[str, Any]:
    when = {"minute_ms": T0 + minute * MINUTE, "tick_ms": T0 + at * MINUTE}
    return {**when, **identity, "volume_usd": volume, "source": "recorded"}


def at_minutes(*minutes: int) -> list[int]:
    return [T0 + minute * MINUTE for minute in minutes]


def test_formulas_are_proved_by_hand_computed_unit_tests(warehouse: Warehouse) -> None:
    warehouse.dbt("test", "--select", "marts,test_type:unit")


def test_built_models_pass_their_dbt_tests(warehouse: Warehouse) -> None:
    warehouse.add("instruments", [instrument(BTC), instrument(HYPE)])
    observe(warehouse, [0, 1, 2])
    observe(warehouse, [0, 1, 2], HYPE, oi_usd=30.0)
    warehouse.add("int_market_bars", [bar(0, 1, 5.0), bar(1, 2, 7.0)])
    warehouse.build(at_minutes(0, 1))
    warehouse.build(at_minutes(2))
    # Marks that move, and open interest that Binance published of every five minutes, at the marks of its instants.
    marks = {minute: 100 + 7 * ((minute // 5) ** 2 % 11) for minute in range(5, 90, 5)}
    warehouse.add(
        "int_market_minutes", ({"minute_ms": T0 + m * MINUTE, **BTC, "mark_price": v} for m, v in marks.items())
    )
    held = {"venue": "binance", "market_id": "binance:perp:BTCUSDT", "period_ms": 5 * MINUTE, "oi_base": 2.0}
    warehouse.add("int_history_oi", ({**held, "t": T0 + m * MINUTE, "oi_usd": 2.0 * v} for m, v in marks.items()))
    # Days that were not recorded: at each full hour, and five minutes before and after.
    hours = [T0 - hour * 60 * MINUTE for hour in range(2, 50)]
    prices = {t + shift * MINUTE: 100 + t // (60 * MINUTE) * 13 % 17 + shift for t in hours for shift in (-5, 0, 5, 10)}
    warehouse.add("int_history_oi", ({**held, "t": t, "oi_usd": 2.0 * v} for t, v in prices.items()))
    bars = {"market_id": "binance:perp:BTCUSDT", "step": "1h"}
    warehouse.add("int_history_bars", ({**bars, "t": t, "open": float(prices[t])} for t in hours))
    instants, labels = (f"published_open_interest_is_of_its_{name}" for name in ("instant", "label"))
    warehouse.dbt("test", "--select", "marts", instants, labels, "--exclude", "test_type:unit")
    total = "select sum(volume_usd), any_value(oi_usd) from series_base_1d where type = 'perp'"
    assert warehouse.rows(total) == [(12.0, 80.0)]
    with warehouse.connect() as con:
        con.execute("update series_market_5m set volume_usd = volume_usd + 1")
        con.execute("update series_base_1m set volume_usd = volume_usd + 1")
        con.execute("update markets set oi_usd = oi_usd + 1")
        con.execute(f"update int_history_oi set t = t - {5 * MINUTE}")
    wrong = (instants, labels, "mart_tiers_agree", "mart_base_series_add_up_markets", "mart_markets_match_series")
    with pytest.raises(AssertionError) as caught:
        warehouse.dbt("test", "--select", *wrong)
    for failed in wrong:
        assert failed in str(caught.value)


def test_every_published_column_is_described_and_typed_by_the_contract(warehouse: Warehouse) -> None:
    for name in (name for name in served().names if name not in served().views):
        node = manifest().nodes[f"model.tidemark.{name}"]
        assert isinstance(node, ModelNode)
        assert node.config.contract.enforced, name
        assert node.description, name
        undescribed = [column.name for column in node.columns.values() if not column.description]
        assert not undescribed, (name, undescribed)
        stored = dict(warehouse.rows("select column_name, data_type from duckdb_columns() where table_name = ?", name))
        assert list(stored) == list(node.columns), name


def test_a_venue_keeps_its_last_good_totals(warehouse: Warehouse) -> None:
    """Also where one window holds the minutes after it, and a window of the past changes nothing."""
    warehouse.add("instruments", [instrument(BTC), instrument(HYPE)])
    observe(warehouse, [0, 1], HYPE, oi_usd=30.0)
    observe(warehouse, list(range(9)))
    totals = ("path:models/marts,+venue_totals",)
    warehouse.build(at_minutes(*range(9)), models=totals)
    query = "select venue, (observed_ms - ?) // 60000, oi_usd, oi_partial from venue_totals order by venue"
    known = [("binance", 8, 50.0, False), ("hyperliquid", 1, 30.0, False)]
    assert warehouse.rows(query, T0) == known
    warehouse.build(at_minutes(0), models=totals)
    assert warehouse.rows(query, T0) == known
    observe(warehouse, [9], HYPE, oi_usd=None)
    warehouse.build(at_minutes(9), models=totals)
    assert warehouse.rows(query, T0) == [known[0], ("hyperliquid", 9, None, True)]


def test_a_late_bar_restates_one_market_and_nothing_else(warehouse: Warehouse) -> None:
    other = market("binance:perp:ETHUSDT", "ETH")
    warehouse.add("instruments", [instrument(BTC), instrument(other)])
    for identity in (BTC, other):
        observe(warehouse, list(range(6)), identity)
    warehouse.build(at_minutes(*range(6)), folder="series")
    with warehouse.connect() as con:
        for mark, table in enumerate(SERIES):
            con.execute(f"update {table} set price = -{mark}")
    warehouse.add("int_market_bars", [bar(2, 70, 9.0)])
    warehouse.add("int_response_minutes", [response(T0 + 70 * MINUTE, "binance", "perp_bars")])
    warehouse.build(at_minutes(70), folder="series")
    for mark, table in enumerate(SERIES):
        sql = f"select distinct (t - {T0}) // {MINUTE}, base from {table} where price <> -{mark} and t < ?"
        rewritten = set(warehouse.rows(sql, T0 + 60 * MINUTE))
        # Buckets that hold the window's own minute are rebuilt as a whole, elsewhere the one coin.
        whole = table.endswith(("_4h", "_1d"))
        minute = 2 if table.endswith("_1m") else 0
        assert rewritten == ({(0, "BTC"), (0, "ETH")} if whole else {(minute, "BTC")}), table
    assert warehouse.rows("select t, volume_usd from series_market_15m where volume_usd > 0") == [(T0, 9.0)]
    assert warehouse.rows("select sum(volume_usd) from series_base_1d where type = 'all'") == [(9.0,)]


def test_a_restated_minute_drops_values_that_are_no_longer_observed(warehouse: Warehouse) -> None:
    warehouse.add("instruments", [instrument(BTC), instrument(HYPE)])
    observe(warehouse, [0, 1])
    observe(warehouse, [0, 1], HYPE)
    warehouse.build(at_minutes(0, 1), folder="series")
    with warehouse.connect() as con:
        con.execute("delete from int_market_minutes where minute_ms = ? and venue = 'hyperliquid'", [T0 + MINUTE])
    warehouse.build(at_minutes(1), folder="series")
    assert warehouse.rows("select market_id from series_market_1m where t = ?", T0 + MINUTE) == [(BTC["market_id"],)]
    assert warehouse.rows("select funding_n from series_market_1d order by market_id") == [(2,), (1,)]
    counted = "select n_markets from series_base_1m where t = ? and type = 'all'"
    assert warehouse.rows(counted, T0 + MINUTE) == [(1,)]


def test_gaps_of_all_reasons_and_their_healing(warehouse: Warehouse) -> None:
    def record(minute: int, *outcomes: Any) -> None:
        warehouse.add("int_response_minutes", outcomes)
        warehouse.add("int_stream_minutes", [stream(T0 + minute * MINUTE, "binance")])
        warehouse.build(at_minutes(minute), folder="gaps")

    def gaps() -> set[tuple[Any, ...]]:
        found = warehouse.rows("select start_ms, end_ms, venue, endpoint, reason from gaps")
        return {((start - T0) // MINUTE, (end - T0) // MINUTE, *rest) for start, end, *rest in found}

    def tickers(minute: int, **counts: int) -> Any:
        return response(T0 + minute * MINUTE, "binance", "perp_tickers", **counts)

    def bars(minute: int, **counts: int) -> Any:
        return response(T0 + minute * MINUTE, "binance", "perp_bars", **counts)

    record(0, tickers(0), bars(0))
    record(1, tickers(1, ok=0, unreachable=1), bars(1, ok=0, unreachable=1))
    record(2, tickers(2, ok=0, unreachable=1), bars(2, ok=0, unreachable=1))
    unreachable = (1, 3, "binance", "perp_tickers", "venue_unreachable")
    assert gaps() == {unreachable, (0, 2, "binance", "perp_bars", "venue_unreachable")}
    warehouse.add("int_market_bars", [bar(minute, 3, 1.0) for minute in (0, 1, 2)])
    record(3, tickers(3, ok=0), bars(3))
    error = (3, 4, "binance", "perp_tickers", "venue_error")
    assert gaps() == {unreachable, error}, "a catch-up closes the gap of the bars"
    record(6, tickers(6, requests=3, ok=2))
    partial = (6, 7, "binance", "perp_tickers", "partial")
    # The bar of minute 3 should have been requested in minute 4, and was not requested later.
    missed = (3, 4, "binance", "perp_bars", "partial")
    assert gaps() == {unreachable, error, partial, (4, 6, None, None, "recorder_down")}
    warehouse.add("int_market_bars", [bar(6, 7, 1.0)])
    record(7, tickers(7), bars(7))
    assert gaps() == {unreachable, error, partial, missed, (4, 6, None, None, "recorder_down")}
    record(4, tickers(4))
    assert gaps() == {unreachable, error, partial, (3, 5, *missed[2:]), (5, 6, None, None, "recorder_down")}


def test_gaps_built_minute_by_minute_equal_gaps_built_at_once(warehouse: Warehouse) -> None:
    warehouse.add("int_response_minutes", [
        response(T0 + m * MINUTE, venue, kind, requests=2, ok=(m * 7 + len(kind)) % 3, unreachable=m % 2)
        for m in range(0, 14) if m not in (4, 5, 9)
        for venue in ("binance", "bybit") if (venue, m) != ("bybit", 3)
        for kind in ("perp_tickers", "perp_bars", "instruments")
    ])  # fmt: skip
    warehouse.add("int_market_bars", [bar(m, m + 1, 1.0) for m in (0, 2, 6, 7, 10)])
    warehouse.build([at for at in at_minutes(*range(14)) if at not in at_minutes(4, 5, 9)], folder="gaps")
    everything = "select * from gaps order by all"
    at_once = warehouse.rows(everything)
    with warehouse.connect() as con:
        con.execute("delete from recording_runs")
    for window in ((12, 13), (0,), (6, 7, 8), (2, 3), (10,), (1,), (11,), (6,)):
        warehouse.build(at_minutes(*window), folder="gaps")
    assert warehouse.rows(everything) == at_once


def test_live_tables_follow_the_newest_minute(warehouse: Warehouse) -> None:
    warehouse.add("instruments", [instrument(BTC, category=["Layer-1"]), instrument(HYPE)])
    observe(warehouse, [0], price=80.0)
    observe(warehouse, [60])
    observe(warehouse, [60], HYPE, oi_usd=None)
    live = ("path:models/marts,+markets", "path:models/marts,+market_index")
    warehouse.build(at_minutes(0, 60), models=live)
    [row] = warehouse.records("from markets")
    assert (row["base"], row["venues"], row["spots"]) == ("BTC", ["binance", "hyperliquid"], [])
    assert row["cat"] == ["Layer 1"]
    assert [entry["venue"] for entry in row["perps"]] == ["binance", "hyperliquid"]
    assert row["perps"][0]["px_1h"] == 0.25
    assert row["perps"][0]["url"] == "https://www.binance.com/en/futures/BTCUSDT"
    warehouse.build(at_minutes(0), models=live)
    assert warehouse.records("from markets") == [row], "a late window does not move the clock back"
    observe(warehouse, [66], HYPE)
    warehouse.build(at_minutes(66), models=live)
    assert [row["venues"] for row in warehouse.records("from markets")] == [["hyperliquid"]]
    index = "select market_id, first_ms, last_ms from market_index order by market_id"
    assert warehouse.rows(index) == [
        (BTC["market_id"], T0, T0 + 60 * MINUTE),
        (HYPE["market_id"], T0 + 60 * MINUTE, T0 + 66 * MINUTE),
    ]


def test_a_changed_column_list_is_an_error_and_not_a_wrong_table(warehouse: Warehouse) -> None:
    warehouse.build(at_minutes(0), folder="series")
    with warehouse.connect() as con:
        con.execute("alter table series_market_1d add column stray double")
    for words in ((), ("--full-refresh",)):
        with pytest.raises(AssertionError, match="tidemark build --rebuild"):
            warehouse.build(at_minutes(1), *words, folder="series")
    with warehouse.connect() as con:
        con.execute("alter table series_market_1d drop column stray")
    warehouse.build(at_minutes(1), folder="series")


def test_a_year_of_history_costs_a_build_no_more_than_a_month(tmp_path: Path) -> None:
    """Counted in the rows that DuckDB's own profile says a build's statements scanned."""
    scanned = {}
    for days in (30, 365):
        folder = tmp_path / str(days)
        folder.mkdir()
        warehouse = Warehouse(folder, built=True)
        with warehouse.connect() as con:
            for statement in (PROJECT.parent / "tests/support/facts/mart_history.sql").read_text().split(";"):
                con.execute(statement.replace("$start", str(T0 - days * 1440 * MINUTE)).replace("$end", str(T0)))
        spot = [market("upbit:spot:KRW-BTC", "BTC", quote="KRW"), market("binance:spot:BTCUSDT", "BTC")]
        warehouse.add("instruments", [instrument(BTC), *map(instrument, spot)])
        observe(warehouse, [0, 1])
        warehouse.add("int_market_bars", [bar(-30, 1, 5.0), bar(0, 1, 5.0), *(bar(0, 1, 5.0, one) for one in spot)])
        # Models that have nothing to do without it run with this in the window.
        kinds = ("spot_bars", "order_books", "instruments")
        reported = {"tick_ms": T0, "venue": "binance", "key": "BTCUSDT"}
        warehouse.add("raw_window", ({**reported, "endpoint": kind} for kind in kinds))
        warehouse.build(at_minutes(0))
        warehouse.build(at_minutes(1))
        scanned[days] = rows_scanned(warehouse)
    # DuckDB reads in row groups of 122,880: which of them hold the newest rows depends on where the history ends.
    for model, rows in scanned[365].items():
        assert rows <= 1.2 * scanned[30][model] + 4 * 122_880, (model, rows, scanned[30][model])


def rows_scanned(warehouse: Warehouse) -> dict[str, int]:
    """Rows that each mart's statements of the last window scan, when they are run once more."""
    project = warehouse.path.parent / "target"
    found: dict[str, int] = {}
    with warehouse.connect() as con:
        for file in sorted(project.glob("run/tidemark/models/marts/*/*.sql")):
            compiled = project / "compiled" / file.relative_to(project / "run")
            script = file.read_text()
            if re.match(r"\s*(/\*.*?\*/)?\s*create (or replace )?view", script, re.DOTALL):
                continue  # no build runs it
            con.execute("begin")
            found[file.stem] = 0
            statements = script.split(";")[:-1]
            if temporary := re.search(r'"?\w+__dbt_tmp\w*"?', script):
                # dbt's log has what follows the temporary table; without one all of it.
                found[file.stem] = scans(con, compiled.read_text())
                con.execute(f"create temporary table {temporary.group()} as {compiled.read_text()}")
                del statements[0]
            for statement in statements:
                found[file.stem] += scans(con, statement)
            con.execute("rollback")
    return found


def scans(con: duckdb.DuckDBPyConnection, statement: str) -> int:
    def total(node: dict[str, Any]) -> int:
        return int(node.get("operator_rows_scanned", 0)) + sum(total(child) for child in node["children"])

    [(_, profile)] = con.execute("explain (analyze, format json) " + statement).fetchall()
    return total(json.loads(profile))
