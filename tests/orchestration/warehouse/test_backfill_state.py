"""The progress of the backfill, as its state file says it: running, stopped, and whether more is expected."""

import os
import time
from pathlib import Path

from ingest.backfill.progress import BackfillState, Progress
from orchestration.warehouse.backfill_state import backfill_state, is_fetching
from tests.support.pipeline.pipeline_home import settings_for

NOBODY = 2**22 + 1  # above the greatest process id


def test_when_the_past_is_fetched(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    assert not is_fetching(settings), "nobody ever began"
    state = BackfillState(os.getpid(), 0, path=settings.backfill / "state.json")
    for venue in ("binance", "bybit", "okx", "gate", "mexc"):
        state.expect(venue, [("perp_bars", 100)])
        state.kinds[venue, "perp_bars"].done_ms = state.venues[venue].done_ms = 100
    state.write()
    assert is_fetching(settings), "its process lives"
    state.end(1, stopped=False)
    assert not is_fetching(settings)
    # One venue of five gives nothing, for reasons of its own; then three do, of which one did not even say what it has.
    state.venues["okx"] = Progress(asked_ms=100, failed=1)
    state.write()
    assert not is_fetching(settings)
    state.venues |= {"gate": Progress(last_error="no network", failed=1), "mexc": Progress(asked_ms=100, failed=1)}
    state.write()
    assert (state.state, is_fetching(settings)) == ("partly", True)
    day_ago = time.time() - 86_401
    os.utime(settings.backfill / "state.json", (day_ago, day_ago))
    assert not is_fetching(settings), "nobody goes on"
    for venue in state.venues:
        state.venues[venue] = Progress(asked_ms=100, done_ms=95)
    state.finished_ms, state.pid = None, NOBODY
    state.write()
    assert is_fetching(settings), "killed a moment ago"


def test_a_backfill_that_was_killed_is_stopped(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    assert backfill_state(settings) is None
    path = settings.backfill / "state.json"
    for pid, state in ((os.getpid(), "running"), (NOBODY, "stopped")):
        BackfillState(pid, 0, path=path).write()
        found = backfill_state(settings)
        assert found is not None
        assert found["state"] == state
    path.write_text("{")
    assert backfill_state(settings) is None
