"""A rebuild has the rows of the builds of each minute, in every table: minutes of all venues around midnight of which a
third lands late, a gap, a kill, and a last minute that both build alike, after which all hourly statistics are made.
"""

import asyncio
import json
from pathlib import Path

import pytest

from ingest.landing.rows import Row
from orchestration.warehouse import closing, transform
from orchestration.warehouse.rebuild import beside, rebuild
from orchestration.warehouse.writer import connection
from tests.support.pipeline.dbt_project import give_dbt, manifest
from tests.support.pipeline.equal_rows import differing
from tests.support.pipeline.landed import copied_home
from tests.support.pipeline.product_minutes import Product
from tests.support.pipeline.recorder_minutes import MINUTE, recorder
from tests.support.pipeline.warehouse import STAMPS

MIDNIGHT = 1_772_668_800_000  # 2026-03-05 00:00 UTC
MINUTES = [MIDNIGHT + number * MINUTE for number in (-3, -2, 0, 1)]
LAST = MIDNIGHT + 66 * MINUTE
WROTE_IT = "build wrote the row", "build that wrote the row"
# Tables that know what had come when they were made, by their descriptions, and what is made from them.
INDICES = "fear_greed", "altcoin_season", "altcoin_season_coins"
AS_IT_WAS = {
    "a completed day is written once, with what had come by then": INDICES,
    "a coin is made in its hour of the day": ("spike_stats",),
    "a map is updated from the one before": ("int_liquidation_maps", "xray_risk"),
}
# Which of a window's equal readings a row names: the first of each window, whichever minutes it has.
READINGS = {"int_fx_rates": ("tick_ms",), "int_settlements": ("tick_ms",)}


def stamps() -> dict[str, set[str]]:
    """The columns that say which build wrote a row, by table, as they are described."""
    found = {"*": set(STAMPS)}
    for node in manifest().nodes.values():
        for column in node.columns.values():
            if any(words in (column.description or "") for words in WROTE_IT):
                found.setdefault(node.name, set()).add(column.name)
    return found


async def record(product: Product) -> list[Row]:
    """Record the minutes and build each with what landed late of the one before; returns the rows of the last one."""
    async with recorder(universe="small") as (_, minute):
        late = list[Row]()
        for tick_ms in MINUTES:
            rows = await minute(tick_ms)
            await asyncio.to_thread(product.land, [*late, *(row for n, row in enumerate(rows) if n % 3)])
            await asyncio.to_thread(product.build)
            late = rows[::3]
        await asyncio.to_thread(product.land, late)
        await asyncio.to_thread(product.build)
        return await minute(LAST)


def test_a_rebuild_has_the_rows_of_the_builds_of_each_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    product = Product(tmp_path / "minutes")
    last = asyncio.run(record(product))
    rebuilt = Product(copied_home(product.settings, tmp_path / "rebuilt").home)
    give_dbt(beside(rebuilt.settings))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(closing, "MOST_MINUTES", 0)
        patch.setattr(transform, "close", killed)
        with pytest.raises(KeyboardInterrupt):
            next(rebuild(rebuilt.settings, max_minutes=3, report=lambda _: None))
    windows = list(rebuild(rebuilt.settings, max_minutes=3, report=lambda _: None))
    assert [window.minutes for window in windows] == [2, 2]
    for one in (product, rebuilt):
        one.land(last)
        one.build()
    found = differing(product.settings.warehouse, rebuilt.settings.warehouse, {**stamps(), **READINGS})
    allowed = {table for tables in AS_IT_WAS.values() for table in tables}
    assert not found.keys() - allowed, json.dumps(found, indent=1)


def test_a_number_that_differs_and_a_row_too_many_are_found(tmp_path: Path) -> None:
    one, other = (str(tmp_path / f"{name}.duckdb") for name in ("one", "other"))
    for path, factor in ((one, 1.0), (other, 1 + 1e-13)):
        with connection(path) as con:
            for name in ("equal", "number", "nested", "text", "rows", "stamp", "columns"):
                con.execute(
                    f"create table {name} as select t, t * {factor}::double as price, "
                    f"[{{'usd': t / 3 * {factor}::double}}] as depth, 'a' as kind, 1 as written from range(1, 5) r(t)"
                )
    with connection(other) as con:
        con.execute("update number set price = price * 1.00001 where t = 3")
        con.execute("update nested set depth = [{'usd': 7.0}] where t = 2")
        con.execute("update text set kind = 'b' where t = 2")
        con.execute("insert into rows from rows limit 1")
        con.execute("update stamp set written = 2")
        con.execute("create table only_here as from rows; alter table columns add column more integer")
    found = differing(one, other, {"*": {"nothing"}, "stamp": {"written"}})
    assert sorted(found) == ["columns", "nested", "number", "only_here", "rows", "text"]
    assert found["rows"] == "4 rows are 5 other ones"
    assert sorted(differing(one, other, {"*": {"price"}})) == [
        "columns",
        "nested",
        "only_here",
        "rows",
        "stamp",
        "text",
    ]
