"""The state file of a backfill: progress, failures, and the final state."""

import json
from pathlib import Path

import pytest

from ingest.backfill.progress import LISTED, BackfillState, Estimate, load_bytes_before
from ingest.landing.rows import Row

HOUR = 3_600_000


def row(body: str) -> Row:
    return Row(0, "past", "history_perp_bars", "BTC", "{}", 200, 1, 2, 1, None, body)


@pytest.fixture
def state(tmp_path: Path) -> BackfillState:
    """Two venues, of which one has two kinds to fetch and the other none."""
    state = BackfillState(7, 1_000, tmp_path / "home" / "state.json", copy=tmp_path / "serving" / "backfill.json")
    state.expect("past", [("perp_bars_1h", 3 * HOUR), ("perp_bars_1h", HOUR), ("settlements", 4 * HOUR)])
    state.expect("other", [])
    return state


def test_progress_is_counted_by_venue_kind_and_altogether(state: BackfillState) -> None:
    assert state.summary()["share"] == 0
    state.record_progress("past", "perp_bars_1h", 10, 3 * HOUR, row("x" * 100))
    state.record_progress("past", "settlements", 1, HOUR, row("y" * 20))
    found = state.summary()
    assert (found["share"], found["requests"], found["rows"], found["body_bytes"]) == (0.5, 2, 11, 120)
    kinds = found["venues"]["past"]["kinds"]
    assert {name: (kind["share"], kind["rows"]) for name, kind in kinds.items()} == {
        "perp_bars_1h": (0.75, 10), "settlements": (0.25, 1)}  # fmt: skip
    assert found["venues"]["other"]["share"] == 1, "nothing is missing there"


def test_a_run_is_done_once_every_span_is_there(state: BackfillState) -> None:
    assert state.state == "running"
    for kind in ("perp_bars_1h", "settlements"):
        state.record_progress("past", kind, 1, 4 * HOUR, row(""))
    assert state.state == "running"
    state.end(9_000, stopped=False)
    assert (state.state, state.summary()["finished_ms"]) == ("done", 9_000)
    state.landing_error = "No space left on device"
    assert state.state == "partly", "what was fetched is not landed"


def test_a_run_that_was_stopped_or_misses_a_span_says_so(state: BackfillState) -> None:
    state.end(9_000, stopped=True)
    assert state.state == "stopped"
    state.end(9_000, stopped=False)
    assert state.state == "partly"


def test_a_venue_whose_markets_could_not_be_listed_is_not_done(state: BackfillState) -> None:
    for kind in ("perp_bars_1h", "settlements"):
        state.record_progress("past", kind, 1, 4 * HOUR, row(""))
    state.fail("other", "perp_tickers: HTTP 500", 5_000)
    state.end(9_000, stopped=False)
    assert state.state == "partly"


def test_failures_are_reported_at_once_and_the_first_spans_are_listed(state: BackfillState) -> None:
    heard: list[str] = []
    state.report_error = heard.append
    state.fail("past", "perp_bars BTC: HTTP 500", 5_000)
    assert heard == ["past: perp_bars BTC: HTTP 500"]
    for n in range(LISTED + 5):
        state.give_up("past", "settlements", f"coin{n}", (1_772_582_400_000, 1_772_586_000_000))
    found = state.summary()
    assert found["failed"] == found["venues"]["past"]["kinds"]["settlements"]["failed"] == LISTED + 5
    assert len(found["failed_spans"]) == LISTED
    assert found["failed_spans"][0] == "past settlements coin0 from 2026-03-04 00:00:00Z to 2026-03-04 01:00:00Z"
    assert found["venues"]["past"]["last_error_ms"] == 5_000


def test_estimates_are_reported_in_words(state: BackfillState) -> None:
    heard: list[str] = []
    state.report_estimate = heard.append
    state.estimate("past", Estimate("metrics", "archive", 50, 9_000, 240.0, 4_500, 49_500_000))
    state.estimate("past", Estimate("settlements", "rest", 7, 14, 3.0))
    state.estimate("past", Estimate("nothing", "rest", 0, 0, 0.0))
    assert heard == [
        "past metrics: 4,500 files, 49.5 MB (about 0.49 GB on disk), 50 markets, about 4 min",
        "past settlements: 14 requests, 7 markets, less than 2 min",
    ]
    assert [one.name for one in state.estimates["past"]] == ["metrics", "settlements"]


def test_both_files_have_what_the_summary_says(state: BackfillState) -> None:
    state.record_progress("past", "settlements", 1, HOUR, row("{}"))
    state.end(9_000, stopped=True)
    assert state.copy is not None
    assert [json.loads(path.read_bytes()) for path in (state.path, state.copy)] == [state.summary()] * 2
    # Where a folder cannot be made, the other file is still written.
    state.copy = state.path / "below a file.json"
    state.end(9_500, stopped=True)
    assert json.loads(state.path.read_bytes())["finished_ms"] == 9_500


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"load_bytes": null}', b'{"load_bytes": "9"}'])
def test_the_size_of_loads_is_unknown_without_a_run_before(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "state.json"
    if content is not None:
        path.write_bytes(content)
    assert load_bytes_before(path) is None


def test_the_size_of_loads_is_that_of_the_run_before(state: BackfillState) -> None:
    state.load_bytes = 5_000
    state.write()
    assert load_bytes_before(state.path) == 5_000
