"""Quarantine: a body that a model fails with is found, set aside and named, and everything else is built."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestration.config.settings import Settings
from orchestration.warehouse import quarantine
from orchestration.warehouse.quarantine import culprits, listed, mark
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import PipelineError, connection
from tests.support.pipeline.landed import MINUTES, quiet, ready_to_build
from tests.support.pipeline.odd_bodies import guard, odd_rows
from tests.support.pipeline.pipeline_home import MINUTE, land_rows, run


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(1, 60))
def test_culprits_are_found_each_by_itself(bad: set[int], most: int) -> None:
    units = range(most + max(bad))

    def fails(some: Sequence[int]) -> bool:
        return bool(bad & set(some))

    if fails(units):
        assert list(culprits(units, fails, lambda: False)) == [[unit] for unit in units if unit in bad]


def test_units_that_fail_only_together_are_found() -> None:
    assert list(culprits(range(20), lambda some: {3, 11} <= set(some), lambda: False)) == [[11]]


def test_those_in_doubt_come_together_when_it_is_late() -> None:
    calls = iter([False, False, True])
    found = list(culprits(range(8), lambda some: 5 in some, lambda: next(calls, True)))
    assert found == [[4, 5]]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, the search goes on until each body is known alone."""
    monkeypatch.setattr(quarantine, "SEARCH_S", 3600.0)
    monkeypatch.setattr(quarantine, "VENUES_S", 3600.0)


@pytest.fixture(scope="module")
def guarded(landed: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = ready_to_build(landed, tmp_path_factory.mktemp("guarded"))
    assert build(settings, report=quiet) is not None
    guard(settings)
    return settings


def bars(settings: Settings) -> set[tuple[int, str]]:
    with connection(settings.warehouse, read_only=True) as con:
        return set(
            con.execute("select t, split_part(market_id, ':', 3) from series_market_1m where volume_usd > 0").fetchall()
        )


@pytest.mark.requirement("status:quarantine")
def test_one_odd_body_costs_itself_and_comes_back(guarded: Settings, tmp_path: Path) -> None:
    """It is found, named, dropped or tried again; the minute's other bodies are built in the same call."""
    settings = ready_to_build(guarded, tmp_path)
    odd, said = MINUTES[-1] + MINUTE, list[str]()
    land_rows(settings, odd_rows(odd, "ETHUSDT"))
    before = bars(settings)
    result = build(settings, report=said.append)
    assert result is not None
    assert result.minutes == 1
    [body] = listed(settings)
    assert (body.venue, body.endpoint, body.key, body.state, body.alone) == (
        "binance", "perp_bars", "ETHUSDT", "set aside", True,
    )  # fmt: skip
    assert body.tick_ms == odd
    assert "odd close of ETHUSDT" in body.error
    assert "staged_bars" in body.models
    assert body.load_id == max(path.name for path in Path(settings.landing).rglob("*.parquet")).rsplit(".", 2)[0]
    assert any("1 of" in line and "bodies of binance" in line for line in said)
    assert "binance perp_bars ETHUSDT" in run(settings, "quarantine", "list")
    assert {symbol for t, symbol in bars(settings) - before} == {"BTCUSDT", "SOLUSDT"}
    with connection(settings.warehouse, read_only=True) as con:
        error = con.execute(
            f"select error from int_response_minutes where tick_ms = {odd} and endpoint = 'perp_bars'"
        ).fetchall()
        assert "in quarantine" in error[0][0]

    # The next minute sends the same: it is set aside unread, without a search.
    land_rows(settings, odd_rows(odd + MINUTE, "ETHUSDT"))
    said.clear()
    assert build(settings, report=said.append) is not None
    assert [(found.tick_ms, found.error[:9]) for found in listed(settings)][1:] == [(odd + MINUTE, "not read:")]
    assert not any("looking for" in line for line in said)

    # Tried again with the cause still there, it is set aside again; without it, all of it is built.
    assert mark(settings, [], "retrying") == 2
    assert build(settings, report=quiet) is not None
    assert {found.state for found in listed(settings)} == {"set aside"}
    guard(settings, guarded=False)
    assert f"{len(listed(settings))} responses are tried again" in run(settings, "quarantine", "retry")
    assert run(settings, "quarantine", "list", "--json") == "[]\n"
    assert {symbol for t, symbol in bars(settings) - before} == {"BTCUSDT", "ETHUSDT", "SOLUSDT"}


@pytest.mark.requirement("status:quarantine")
def test_a_dropped_body_stays_dropped_in_a_rebuild(guarded: Settings, tmp_path: Path) -> None:
    settings = ready_to_build(guarded, tmp_path)
    land_rows(settings, odd_rows(MINUTES[-1] + MINUTE, "BTCUSDT", "SOLUSDT"))
    assert build(settings, report=quiet) is not None
    first, second = listed(settings)
    assert {first.key, second.key} == {"BTCUSDT", "SOLUSDT"}
    assert mark(settings, [first.quarantine_id], "dropped") == 1
    with pytest.raises(PipelineError, match="not in quarantine: 77"):
        mark(settings, [77], "dropped")
    assert build(settings, rebuild=True, report=quiet) is not None
    [left] = listed(settings)
    assert (left.key, left.state) == (first.key, "dropped")
    with connection(settings.warehouse, read_only=True) as con:
        assert con.execute("select count(*) from raw_window where body is null").fetchall() == [(1,)]
