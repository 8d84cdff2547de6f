"""How much of the past is landed at once."""

import pytest

from ingest.backfill.loads import NOBODY_MS, Loads, Served

BUILD_MS = 30_000


def served(loads: Loads, landed_ms: int, took_ms: int) -> int:
    """The size of the next load, after one whose build took so long."""
    loads.note_landed(landed_ms, loads.size)
    newest = Served(landed_ms + 1, took_ms, landed_ms + 1_000, landed_ms + 2_000)
    assert not loads.must_wait(newest, newest.published_ms + 1)
    return loads.size


def test_a_load_waits_for_an_edition_with_one_of_the_three_before_it() -> None:
    """In an edition is what landed before its newest build of backfilled rows began."""
    loads = Loads(1_000, BUILD_MS)
    before = Served(40_000, 9_000, 39_000, 50_000)
    assert not loads.must_wait(before, 60_000), "there is no load before the first"
    loads.note_landed(62_000, 1_000)
    for landed_ms in (122_000, 182_000):
        assert not loads.must_wait(before, landed_ms), (
            "they are built after a minute's edition, and served with a later"
        )
        loads.note_landed(landed_ms, 1_000)
    assert loads.must_wait(before, 240_000)
    assert loads.must_wait(Served(61_999, 9_000, 181_000, 230_000), 240_000), (
        "this build began a moment before the first"
    )
    assert not loads.must_wait(Served(62_000, 9_000, 241_000, 250_000), 300_000)
    loads.note_landed(302_000, 1_000)
    assert loads.must_wait(Served(62_000, 9_000, 301_000, 310_000), 360_000), "an edition of minutes alone"
    assert not loads.must_wait(Served(310_000, 9_000, 361_000, 370_000), 420_000), "all are in it"


def test_nothing_waits_where_nobody_publishes() -> None:
    loads = Loads(1_000, BUILD_MS)
    for landed_ms in (61_000, 62_000, 63_000):
        loads.note_landed(landed_ms, 1_000)
    last = Served(40_000, 9_000, 39_000, 50_000)
    assert loads.must_wait(last, 50_000 + NOBODY_MS)
    assert not loads.must_wait(last, 50_001 + NOBODY_MS)
    assert loads.size == 1_000
    for landed_ms in (64_000, 65_000, 66_000):
        loads.note_landed(landed_ms, 1_000)
    assert not loads.must_wait(None, 120_000)


def test_loads_follow_the_time_that_their_builds_take() -> None:
    """In steps from a half to a quarter more, and within a quarter and four times of the first one."""
    loads = Loads(1_000, BUILD_MS)
    sizes = [
        served(loads, at * 60_000, took) for at, took in enumerate((30_000, 40_000, 60_000, 99_000, 9_000, 27_000, 0))
    ]
    assert sizes == [1_000, 750, 375, 250, 312, 346, 432]
    assert [served(loads, at * 60_000, 9_000) for at in range(9, 21)][-1] == 4_000


def test_a_small_load_says_nothing_of_a_larger_one() -> None:
    loads = Loads(1_000, BUILD_MS)
    for size, took_ms, becomes in ((749, 3_000, 1_000), (750, 3_000, 1_250), (10, 60_000, 625)):
        at_ms = 60_000 * size
        loads.note_landed(at_ms, size)
        assert not loads.must_wait(Served(at_ms + 1, took_ms, at_ms + 2, at_ms + 3), at_ms + 4)
        assert loads.size == becomes


def test_loads_that_another_one_had_to_wait_for_were_too_large() -> None:
    """Their own builds may have been short ones."""
    loads = Loads(1_000, BUILD_MS)
    for landed_ms in (60_000, 90_000, 120_000):
        loads.note_landed(landed_ms, 1_000)
    assert loads.must_wait(Served(50_000, 9_000, 49_000, 59_000), 180_000)
    assert not loads.must_wait(Served(125_000, 9_000, 182_000, 195_000), 240_000)
    assert loads.size == 500
    assert served(loads, 240_000, 9_000) == 625


@pytest.mark.parametrize("took_ms", [0, 99_000])
def test_the_size_is_set_once_for_each_load(took_ms: int) -> None:
    loads = Loads(1_000, BUILD_MS)
    first = served(loads, 60_000, took_ms)
    assert not loads.must_wait(Served(120_000, took_ms, 119_000, 219_000), 220_000)
    assert loads.size == first


@pytest.mark.parametrize(("size", "begins_with"), [(None, 1_000), (400, 400), (10, 250), (9_000, 4_000)])
def test_a_size_that_was_right_before_is_begun_with(size: int | None, begins_with: int) -> None:
    """Within the bounds, which another version or setting may have changed."""
    assert Loads(1_000, BUILD_MS, size).size == begins_with
