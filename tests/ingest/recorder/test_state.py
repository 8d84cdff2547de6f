"""The recorder's state file, and the lock on its folder."""

import json
import os
from pathlib import Path

import pytest

from ingest.landing.rows import Row
from ingest.recorder.span import STOPPED
from ingest.recorder.state import RecorderBusy, State, VenueState, lock


def test_two_recorders_do_not_share_a_folder(tmp_path: Path) -> None:
    with lock(tmp_path), pytest.raises(RecorderBusy, match=f"process {os.getpid()}"):
        lock(tmp_path)
    lock(tmp_path).close()


def answered(error: str | None, received_ms: int | None = 90, key: str = "BTC") -> Row:
    return Row(60, "test", "bars", key, "{}", 200, 70, received_ms, 1, error, "{}")


def test_the_last_good_response_and_the_last_error_are_noted_by_venue() -> None:
    state = State(1, 0, venues={"test": VenueState(), "other": VenueState()})
    state.note(answered(None))
    state.note(answered("HTTP 500", 95))
    state.note(answered("no answer within 10 s", None, ""))
    assert state.venues["test"] == VenueState(last_ok_ms=90, last_error="bars: no answer within 10 s", last_error_ms=70)
    assert state.venues["other"] == VenueState()
    state.note(answered("HTTP 400", 99))
    assert (state.venues["test"].last_error, state.venues["test"].last_error_ms) == ("bars BTC: HTTP 400", 99)


def test_a_stream_that_the_recorder_stopped_is_no_error() -> None:
    state = State(1, 0, venues={"test": VenueState()})
    state.note(answered(STOPPED))
    assert state.venues["test"].last_error is None


def test_the_file_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    state = State(7, 5, venues={"test": VenueState(ok=3)})
    state.write(tmp_path / "state.json")
    written = json.loads((tmp_path / "state.json").read_bytes())
    assert (written["pid"], written["started_ms"], written["venues"]["test"]["ok"]) == (7, 5, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
    # Where the new one cannot be written the old one stays, and the recorder goes on.
    (tmp_path / "state.tmp").mkdir()
    State(8, 6).write(tmp_path / "state.json")
    assert json.loads((tmp_path / "state.json").read_bytes())["pid"] == 7
