"""The sandbox's clock: fixed, moved, or the wall's."""

import time

import pytest

from sandbox.market.clock import Clock


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_fixed_time_stays_until_wall_time_is_set() -> None:
    clock = Clock()
    clock.set({"now_ms": 1_700_000_000_000})
    assert clock.now_ms() == clock.now_ms() == 1_700_000_000_000
    assert clock.shown()["mode"] == "fixed"
    before = wall_ms()
    clock.set({"mode": "wall"})
    assert before <= clock.now_ms() <= wall_ms()
    assert clock.shown()["offset_ms"] == 0


def test_a_clock_with_a_start_time_continues_from_it() -> None:
    clock = Clock(fixed_ms=5)
    before = wall_ms()
    clock.set({"start_ms": 1_600_000_000_000})
    after = wall_ms()
    assert clock.fixed_ms is None
    # As far from the wall's time as the start is: no earlier than set before, no later than set after.
    assert 1_600_000_000_000 - after <= clock.offset_ms <= 1_600_000_000_000 - before
    assert 0 <= clock.now_ms() - 1_600_000_000_000 <= wall_ms() - before


def test_an_offset_is_added_to_the_wall() -> None:
    clock = Clock()
    clock.set({"offset_ms": -86_400_000})
    before = wall_ms()
    assert before - 86_400_000 <= clock.now_ms() <= wall_ms() - 86_400_000
    assert clock.shown() | {"now_ms": 0} == {"mode": "wall", "now_ms": 0, "offset_ms": -86_400_000}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({}, "takes one of"),
        ({"mode": "fast"}, "takes one of"),
        ({"now_ms": 1, "offset_ms": 1}, "takes one of"),
        ({"now_ms": "soon"}, "now_ms must be whole milliseconds, not 'soon'"),
        ({"start_ms": True}, "start_ms must be whole milliseconds, not True"),
        ({"offset_ms": 1.5}, "offset_ms must be whole milliseconds, not 1.5"),
    ],
)
def test_a_refused_setting_changes_nothing(wanted: dict[str, object], words: str) -> None:
    clock = Clock(fixed_ms=7)
    with pytest.raises(ValueError, match=words):
        clock.set(wanted)
    assert clock.now_ms() == 7
