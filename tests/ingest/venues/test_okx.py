"""OKX: what it really sent, read by the staging views, every value by two routes."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipeline.warehouse import Warehouse, seeded
from tests.support.recordings.recorded_okx import RecordedOkx, recorded_okx

NAMED = {"option_tickers": "instrument", "option_open_interest": "instrument", "option_volumes": "instrument"}


def same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, int | float):
        return math.isclose(got, expected, rel_tol=1e-12)
    if isinstance(got, list):
        return [tuple(one) if isinstance(one, list | tuple) else one for one in got] == list(expected)
    return bool(got == expected)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with OKX's staging views alone."""
    return seeded(tmp_path_factory.mktemp("okx"))


@pytest.fixture(scope="module")
def built(recordings: Path, staged: Warehouse) -> tuple[RecordedOkx, Warehouse]:
    """The recorded bodies, each in a tick of its own."""
    expected = recorded_okx(recordings)
    staged.build(expected.rows, "raw_window")
    return expected, staged


def test_every_recorded_value_is_the_bodys(
    built: tuple[RecordedOkx, Warehouse], capsys: pytest.CaptureFixture[str]
) -> None:
    recorded, warehouse = built
    wrong, compared = [], Counter[str]()
    for kind, rows in recorded.expected.items():
        columns = list(dict.fromkeys(name for _, values in rows for name in values))
        name = NAMED.get(kind, "symbol")
        query = f"select {name}, {', '.join(columns)} from stg_okx__{kind} where reject is null"
        found: dict[str, list[dict[str, Any]]] = {}
        for symbol, *got in warehouse.rows(query):
            found.setdefault(symbol, []).append(dict(zip(columns, got, strict=True)))
        assert sum(map(len, found.values())) == len(rows), kind
        for symbol, values in rows:
            compared[kind] += 1
            # Turnover by coins at the last price and by contracts are two numbers of the venue's.
            loose = {"vol24h_quote"} if kind == "perp_tickers" else set()
            if not any(
                all(
                    math.isclose(one[key], value, rel_tol=0.02) if key in loose else same(one[key], value)
                    for key, value in values.items()
                )
                for one in found.get(symbol, [])
            ):
                wrong.append((kind, symbol, values, found.get(symbol, [])[:2]))
    with capsys.disabled():
        print(f"\nrecorded rows of OKX compared: {dict(compared)}, different: {len(wrong)}")
    assert not wrong, f"{len(wrong)} differ: {wrong[:5]}"


def test_nothing_recorded_was_rejected(built: tuple[RecordedOkx, Warehouse]) -> None:
    recorded, warehouse = built
    for kind in recorded.expected:
        assert warehouse.rows(f"select * from stg_okx__{kind} where reject is not null") == [], kind
