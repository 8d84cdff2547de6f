"""What the venues' history adds: only where nothing was recorded, marked as such, and never a gap of its own."""

import json

import pytest

from tests.warehouse import MINUTE, Warehouse, response, seeded

TICK = 1_750_149_480_000
HOUR = 3_600_000


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Seeds and empty models, parsed once for all tests."""
    return seeded(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def warehouse(empty: Warehouse) -> Warehouse:
    return empty.reset()


def klines(price: float, *opened: int, step: int = MINUTE) -> str:
    """Binance's answer of some bars, each two coins at one price."""
    text = str(price)
    return json.dumps(
        [[t, text, text, text, text, "2", t + step - 1, str(2 * price), 3, "1", text, "0"] for t in opened]
    )


def test_a_backfilled_minute_never_replaces_a_recorded_one(warehouse: Warehouse) -> None:
    """Whichever came first, and in one window too; a later history replaces an earlier one."""
    bars = "select minute_ms, close, source from int_market_bars order by 1"
    recorded = response(TICK, "binance", "perp_bars", klines(1.0, TICK - MINUTE), key="BTCUSDT")
    later = TICK + HOUR
    history = klines(9.0, TICK - 2 * MINUTE, TICK - MINUTE)
    backfilled = response(later, "binance", "history_perp_bars", history, key="BTCUSDT")
    expected = [(TICK - 2 * MINUTE, 9.0, "backfilled"), (TICK - MINUTE, 1.0, "recorded")]
    for order in ([[recorded], [backfilled]], [[backfilled], [recorded]], [[recorded, backfilled]]):
        warehouse.reset()
        for rows in order:
            warehouse.build(rows)
        assert warehouse.rows(bars) == expected
    history = klines(8.0, TICK - 2 * MINUTE, TICK - MINUTE)
    warehouse.build([response(later + MINUTE, "binance", "history_perp_bars", history, key="BTCUSDT")])
    assert warehouse.rows(bars) == [(TICK - 2 * MINUTE, 8.0, "backfilled"), (TICK - MINUTE, 1.0, "recorded")]
