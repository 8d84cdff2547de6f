"""How much of the past is landed at once."""

import pytest

from ingest.backfill.loads import NOBODY_MS, Loads, Served

LATE_MS = 30_000


def served(loads: Loads, landed_ms: int, took_ms: int) -> int:
    """The size of the next load, after one whose edition was published so long after its data."""
    loads.note_landed(landed_ms)
    newest = Served(landed_ms + 1, landed_ms, landed_ms + took_ms)
    assert not loads.must_wait(newest, newest.published_ms + 1)
    return loads.size


def test_a_load_waits_for_the_edition_whose_build_began_after_it() -> None:
    loads = Loads(1_000, LATE_MS)
    before = Served(40_000, 39_000, 50_000)
    assert not loads.must_wait(before, 60_000), "there is no load before the first"
    loads.note_landed(62_000)
    assert loads.must_wait(before, 120_000)
    assert loads.must_wait(Served(61_999, 61_000, 110_000), 120_000), "this build began a moment before it"
    assert not loads.must_wait(Served(62_000, 61_000, 110_000), 180_000)


def test_nothing_waits_where_nobody_publishes() -> None:
    loads = Loads(1_000, LATE_MS)
    loads.note_landed(62_000)
    assert not loads.must_wait(None, 120_000)
    last = Served(40_000, 39_000, 50_000)
    assert loads.must_wait(last, 50_000 + NOBODY_MS)
    assert not loads.must_wait(last, 50_001 + NOBODY_MS)
    assert loads.size == 1_000


def test_late_editions_halve_the_loads_and_others_let_them_grow() -> None:
    loads = Loads(1_000, LATE_MS)
    sizes = [served(loads, at * 60_000, took) for at, took in enumerate((30_000, 30_001, 45_000, 99_000, 9_000, 9_000))]
    assert sizes == [1_000, 500, 250, 250, 312, 390]
    assert [served(loads, at * 60_000, 9_000) for at in range(9, 15)][-1] == 1_000


def test_a_load_that_another_one_had_to_wait_for_was_too_large() -> None:
    """The edition that is seen then may be that of the next minute, and in time."""
    loads = Loads(1_000, LATE_MS)
    loads.note_landed(60_000)
    assert loads.must_wait(Served(50_000, 49_000, 59_000), 120_000)
    assert not loads.must_wait(Served(125_000, 122_000, 135_000), 180_000)
    assert loads.size == 500
    assert served(loads, 180_000, 9_000) == 625


@pytest.mark.parametrize("took_ms", [0, 99_000])
def test_the_size_is_set_once_for_each_load(took_ms: int) -> None:
    loads = Loads(1_000, LATE_MS)
    first = served(loads, 60_000, took_ms)
    assert not loads.must_wait(Served(120_000, 119_000, 219_000), 220_000)
    assert loads.size == first
