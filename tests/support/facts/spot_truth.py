"""The simulated market's values for a spot venue: the expected rows of its staging views."""

from typing import Any

import pytest

from sandbox.market.world import World
from tests.support.pipeline.warehouse import MINUTE, Warehouse

Bar = tuple[int, int, float, float, float, float, float]


def rows_of(world: World, venue: str, now_ms: int) -> dict[str, int]:
    """Symbol → row of what trades now."""
    listed = world.minute(now_ms // MINUTE).listed
    return {world.universe.listings[row].symbol: int(row) for row in world.universe.rows(venue, "spot") if listed[row]}


def bars(world: World, row: int, now_ms: int, count: int) -> list[Bar]:
    """The closed one-minute bars before now, oldest first: start, end, open, high, low, close, base volume."""
    first = now_ms // MINUTE - count
    found = world.bars(row, first, count)
    columns = (found.open, found.high, found.low, found.close, found.volume)
    values = zip(*(column[0].tolist() for column in columns), strict=True)
    return [((first + n) * MINUTE, (first + n + 1) * MINUTE - 1, *bar) for n, bar in enumerate(values)]


def assert_all_answered(rows: list[dict[str, Any]]) -> None:
    """Every request of the minute was answered, and none is refused."""
    assert [row for row in rows if row["status"] != 200 or row["error"]] == []


def assert_nothing_rejected(warehouse: Warehouse, views: list[str]) -> None:
    """No view leaves a row unread."""
    for view in views:
        assert warehouse.rows(f"select count(*) > 0, count(reject) from {view}") == [(True, 0)], view


def assert_bars_are_true(warehouse: Warehouse, venue: str, world: World, now_ms: int, wanted: set[str]) -> None:
    """Closed bars equal the simulated market's, for exactly the wanted markets; the current bar is marked as open."""
    query = f"""select symbol, opened_ms, closed_ms, open, high, low, close, volume from stg_{venue}__spot_bars
                order by symbol, opened_ms"""
    reported: dict[str, list[Bar]] = {}
    for symbol, *values in warehouse.rows(query):
        reported.setdefault(symbol, []).append(tuple(values))
    assert set(reported) == wanted
    rows = rows_of(world, venue, now_ms)
    for symbol, seen in reported.items():
        closed = [bar for bar in seen if bar[1] < now_ms]
        true = {bar[0]: bar for bar in bars(world, rows[symbol], now_ms, 320)}
        assert len(closed) > 50
        for bar in closed:
            assert bar == pytest.approx(true[bar[0]], rel=1e-6), symbol
        assert seen[-1][1] // MINUTE == now_ms // MINUTE
