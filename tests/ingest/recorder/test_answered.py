"""A recorder that is started again asks for the bars since each key was answered."""

import asyncio
from pathlib import Path

import pytest

from ingest.declaration.venue import Venue
from ingest.recorder.answered import FILE, read_answered, write_answered
from ingest.recorder.recorder import Pace, Recorder
from ingest.recorder.schedule import Schedule
from tests.support.servers.loopback_market import BARS, POOL, TICKERS, market
from tests.support.servers.loopback_venue import serving

MINUTE, FIRST = 60_000, 99
VENUE = Venue("test", (POOL,), (TICKERS, BARS))


def schedules() -> dict[str, Schedule]:
    return {"test": Schedule(VENUE, MINUTE)}


def test_the_bars_since_the_last_answer_are_asked_for(tmp_path: Path) -> None:
    before, after = schedules(), schedules()
    for key, minute in (("a", 100), ("b", 102)):
        before["test"].note_answered("perp_bars", key, minute * MINUTE)
    before["test"].note_answered("perp_tickers", "", 100 * MINUTE)
    write_answered(tmp_path, before, 102 * MINUTE)
    read_answered(tmp_path, after, 110 * MINUTE)
    assert after["test"].answered(1000 * MINUTE) == {"perp_bars": {"a": 100 * MINUTE}}
    assert after["test"]._bars(BARS, "a", 110 * MINUTE) == 12
    assert after["test"]._bars(BARS, "b", 110 * MINUTE) == FIRST, "of the minute under way nothing is noted"


@pytest.mark.parametrize("content", ["", "[1]", '{"test": 3}', '{"test": {"perp_bars": {"a": null}}}', "\x00"])
def test_a_file_that_is_unreadable_counts_as_none(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_text(content)
    found = schedules()
    read_answered(tmp_path, found, 1000 * MINUTE)
    assert found["test"].answered(1000 * MINUTE) == {"perp_bars": {}}
    assert FILE in caplog.text


def test_venues_that_are_gone_and_folders_that_cannot_be_written_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(
        '{"gone": {"perp_bars": {"a": 1}}, "test": {"perp_bars": {"a": 2, "ahead": 60000001}}}'
    )
    found = schedules()
    read_answered(tmp_path, found, 1000 * MINUTE)
    assert found["test"].answered(2**50) == {"perp_bars": {"a": 2}}, "a clock was ahead"
    write_answered(tmp_path / "missing", found, 9)


def test_a_second_run_asks_for_fewer_bars(tmp_path: Path) -> None:
    with serving(market) as server:
        for _ in range(2):
            recorder = Recorder(tmp_path / "recorder", str(tmp_path / "landing"), server.url, (VENUE,), Pace())
            asyncio.run(recorder.run(True, asyncio.Event()))
        asked = [(seen.query["symbol"], int(seen.query["limit"])) for seen in server.seen if "/bars" in seen.path]
    first, second = dict(asked[:3]), dict(asked[3:])
    assert set(first.values()) == {FIRST}
    # Those of highest rank, which are asked each minute, and one that was not asked before: the others' turn is later.
    assert {key: second[key] < FIRST for key in second} == {"d": True, "c": True, "a": False}
