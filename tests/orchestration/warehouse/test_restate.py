"""Restatement: which built minutes are built again, in which windows, and what it leaves of the watermark."""

import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.restate import minutes_to_restate, restated_window
from orchestration.warehouse.windows import AFTER_HISTORY, EVERY, RECORDED, next_window
from orchestration.warehouse.writer import connection
from tests.support.pipeline.landed import MINUTES, quiet
from tests.support.pipeline.pipeline_home import MINUTE, land_minutes, settings_for


def test_a_span_is_cut_into_windows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestration.warehouse.restate.WINDOW_MINUTES", 3)
    land_minutes(settings, [MINUTES[-1] + MINUTE])
    assert minutes_to_restate(settings, (MINUTES[0], MINUTES[-1] + 9 * MINUTE), quiet) == [MINUTES[:3], MINUTES[3:]]
    assert minutes_to_restate(settings, (MINUTES[1], MINUTES[2]), quiet) == [[MINUTES[1]]]
    assert minutes_to_restate(settings, (MINUTES[0] - MINUTE, MINUTES[0]), quiet) == []


def test_without_a_build_there_is_nothing_to_restate(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert minutes_to_restate(settings_for(tmp_path_factory.mktemp("fresh")), None, quiet) == []


def test_a_restatement_is_a_build_that_finishes_no_load(settings: Settings) -> None:
    land_minutes(settings, [MINUTES[-1] + MINUTE])
    with connection(settings.warehouse) as con:
        con.execute(f"create table int_touched_minutes as select {MINUTES[1]} as minute_ms")
        con.execute("create table touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar)")
        loads = con.execute("from pipeline.loads order by all").fetchall()
    with restated_window(settings, [MINUTES[1]]) as window:
        assert window.minutes == (MINUTES[1],)
        with connection(settings.warehouse, read_only=True) as con:
            query = "select value from pipeline.settings where name = 'triggers'"
            assert con.execute(query).fetchone() == (" ".join(sorted({RECORDED, *EVERY, AFTER_HISTORY})),)
            assert con.execute("select tick_ms from pipeline.window_minutes").fetchall() == [(MINUTES[1],)]
    with connection(settings.warehouse) as con:
        builds = con.execute("select built_minutes, touched_minutes from pipeline.builds").fetchall()
        assert builds == [([MINUTES[1]], [MINUTES[1]])]
        assert con.execute("from pipeline.loads order by all").fetchall() == loads
        assert con.execute("select tick_ms from pipeline.window_minutes").fetchall() == []
        waiting = next_window(con, settings.landing)
    assert waiting is not None
    assert waiting.minutes == (MINUTES[-1] + MINUTE,)
