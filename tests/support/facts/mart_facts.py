"""A warehouse with hand-written intermediate rows, and the real dbt project that builds the marts from them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import yaml

from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.writer import note_settings
from tests.support.pipeline import kept_open
from tests.support.pipeline.dbt_project import PROJECT, run_dbt
from tests.support.pipeline.shared import shared

MINUTE = 60_000
T0 = 1_772_582_400_000  # 2026-03-04 00:00 UTC, the start of a bucket of every step
STEPS = {"1m": 1, "5m": 5, "15m": 15, "1h": 60, "4h": 240, "1d": 1440}
FACTS = (
    "instruments", "int_market_minutes", "int_market_bars", "int_liquidations", "int_response_minutes",
    "int_stream_minutes", "int_touched_minutes", "int_history_bars", "int_history_oi", "int_history_liquidations",
    "int_settlements", "int_ratios", "int_file_minutes",
    "int_fx_rates", "int_book_depth", "int_wallet_liquidations", "int_option_snapshots", "int_option_smiles",
    "int_option_implied", "staged_books",
    "int_index_components", "int_index_depth", "int_liquidation_maps", "int_identity", "int_contracts",
    "int_funding_intervals", "int_lost_markets", "raw_window",
)  # fmt: skip
Row = Mapping[str, Any]


@cache
def fact_columns() -> dict[str, dict[str, str]]:
    """Columns and types of the intermediate tables, as the project documents them."""
    files = sorted((PROJECT / "models/intermediate").glob("_*.yml"))
    models = [model for file in files for model in yaml.safe_load(file.read_text())["models"]]
    return {model["name"]: {column["name"]: column["data_type"] for column in model["columns"]} for model in models}


class Warehouse:
    """A DuckDB file with intermediate rows; `build` runs the marts for a window as the pipeline does.

    Its first build creates the marts, or they exist without rows, as after an empty window (`built`).
    """

    def __init__(self, folder: Path, built: bool = False) -> None:
        self.path = folder / "warehouse.duckdb"
        self.viewed = {""} if built else set[str]()
        kept_open.close(self.path)
        self.path.unlink(missing_ok=True)
        if built:
            kept_open.copy(_built_empty(), self.path)
            return
        with self.connect() as con:
            prepare(con)
            con.execute("begin")
            for table in FACTS:
                columns = ", ".join(f"{name} {kind}" for name, kind in fact_columns()[table].items())
                con.execute(f"create table {table} ({columns})")
            # What a window holds decides which models have something to do: these bring all that is rare.
            rare = ["contract_stats", "order_books", "every_5m", "every_1h"]
            con.execute("insert into raw_window (venue, endpoint) select 'v', unnest(?)", [rare])
            for seed in ("venues", "premium_exchanges", "quotes", "index_exclusions", "categories", "accuracy_limits"):
                file, texts = str(PROJECT / f"seeds/{seed}.csv"), seed != "accuracy_limits"
                con.execute(f"create table {seed} as from read_csv(?, all_varchar = {texts})", [file])
            con.execute("commit")

    def connect(self) -> duckdb.DuckDBPyConnection:
        return kept_open.cursor(self.path)

    def add(self, table: str, rows: Iterable[Row]) -> None:
        with self.connect() as con:
            con.execute("begin")
            for row in rows:
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                con.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))
            con.execute("commit")

    def add_many(self, table: str, rows: Iterable[Row]) -> None:
        """Many rows with the same columns."""
        with self.connect() as con:
            con.register("given", pa.Table.from_pylist(list(rows)))
            con.execute(f"insert into {table} by name from given")

    def write(self, sql: str) -> None:
        with self.connect() as con:
            con.execute(sql)

    def note(self, **values: str | int) -> None:
        """Write the pipeline's notes of these names."""
        with self.connect() as con:
            note_settings(con, {name: str(value) for name, value in values.items()})

    def build(
        self, minutes: Iterable[int], *arguments: str, folder: str = "", models: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """One window: its minutes and everything that they touch, in all marts, in those of one folder, or in some that
        are there. Views are made by the first one, as in the product."""
        self.window(minutes)
        viewed = self.viewed & {"", folder} and not arguments
        self.viewed.add(folder)
        excluded = (*without, *(("config.materialized:view_in_place",) if viewed and not models else ()))
        selected = models or (f"path:models/marts/{folder}",)
        self.dbt("run", "--select", *selected, *arguments, *(("--exclude", *excluded) if excluded else ()))

    def window(self, minutes: Iterable[int]) -> None:
        """Set the window to build next."""
        with self.connect() as con:
            con.execute("delete from pipeline.window_minutes; delete from int_touched_minutes")
            con.execute("insert into pipeline.window_minutes (tick_ms) select unnest(?::bigint[])", [list(minutes)])
            con.execute("""
                insert into int_touched_minutes
                select tick_ms from pipeline.window_minutes
                union select minute_ms from int_market_bars semi join pipeline.window_minutes using (tick_ms)
                union select ts - ts % 60000 from int_liquidations semi join pipeline.window_minutes using (tick_ms)
            """)

    def dbt(self, *arguments: str) -> None:
        run_dbt(self.path, *arguments)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self.connect() as con:
            return con.execute(sql, parameters).fetchall()

    def records(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        with self.connect() as con:
            found = con.execute(sql, parameters)
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _built_empty() -> Path:
    """The marts without facts, made once in a run."""
    with shared("built_marts") as folder:
        template = folder / "kept.duckdb"
        if not template.exists():
            first = Warehouse(folder)
            first.build([])
            kept_open.close(first.path)
            first.path.rename(template)
        return template


def market(market_id: str, base: str, **changes: Any) -> dict[str, Any]:
    """The identity columns of a market with a USDT quote."""
    venue, kind, symbol = market_id.split(":", 2)
    identity = {"market_id": market_id, "venue": venue, "type": kind, "symbol": symbol, "base": base, "quote": "USDT"}
    return {**identity, "hip3": False, "aggregated": True, **changes}


def instrument(identity: Row, **changes: Any) -> dict[str, Any]:
    """A row of `instruments` for a market."""
    known = {"base_raw": identity["base"], "multiplier": 1.0, "usd_like": True, "category": [], "metadata": True}
    return {**identity, **known, "seen_ms": T0, **changes}


def response(tick_ms: int, venue: str, endpoint: str, requests: int = 1, ok: int = 1, unreachable: int = 0) -> Row:
    """One row of `int_response_minutes`."""
    counts = {"requests": requests, "ok": ok, "failed": requests - ok, "unreachable": unreachable, "broken": 0}
    return {"tick_ms": tick_ms, "venue": venue, "endpoint": endpoint, **counts}


def stream(tick_ms: int, venue: str, connected_ms: int = MINUTE) -> Row:
    """One row of `int_stream_minutes` for the liquidation stream."""
    return {"tick_ms": tick_ms, "venue": venue, "endpoint": "liquidations", "key": "", "connected_ms": connected_ms}
