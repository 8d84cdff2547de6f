"""The clock: the start of a minute, and a time as text that can be read back."""

import time
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from ingest.recorder.clock import as_text, minute_start, now_ms

TIMES = st.integers(0, 4_000_000_000_000)


def test_now_is_the_systems_time_in_milliseconds() -> None:
    before = time.time()
    found = now_ms()
    assert int(before * 1000) <= found <= time.time() * 1000


@given(TIMES, st.sampled_from([300, 1000, 60_000]))
def test_a_minute_holds_its_time(ms: int, minute_ms: int) -> None:
    start = minute_start(ms, minute_ms)
    assert start <= ms < start + minute_ms
    assert minute_start(start, minute_ms) == minute_start(start + minute_ms - 1, minute_ms) == start
    assert (start - minute_start(0, minute_ms)) % minute_ms == 0


@given(TIMES)
def test_a_time_as_text_is_the_second_it_lies_in(ms: int) -> None:
    assert datetime.fromisoformat(as_text(ms)).timestamp() == ms // 1000
