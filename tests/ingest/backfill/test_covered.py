"""The fetched spans of history: they merge, survive a restart, and leave the right gaps."""

import itertools
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ingest.backfill.covered import Covered


def test_covered_spans_merge_and_their_gaps_come_newest_first(tmp_path: Path) -> None:
    covered = Covered(tmp_path / "covered.sqlite")
    covered.add("a", "bars", "BTC", 10, 20)
    covered.add("a", "bars", "BTC", 40, 50)
    assert covered.gaps("a", "bars", "BTC", 0, 60) == [(50, 60), (20, 40), (0, 10)]
    covered.add("a", "bars", "BTC", 20, 40)
    assert covered.spans("a", "bars", "BTC") == [(10, 50)]
    covered.forget("a", "bars", "BTC", 20, 30)
    assert covered.spans("a", "bars", "BTC") == [(10, 20), (30, 50)]
    assert covered.gaps("a", "bars", "BTC", 10, 50) == [(20, 30)]
    assert covered.gaps("a", "bars", "ETH", 10, 50) == [(10, 50)]
    covered.close()


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.integers(0, 60)), max_size=25)


@given(STEPS)
def test_spans_are_what_was_added_and_not_forgotten(steps: list[tuple[bool, int, int]]) -> None:
    """Against the set of milliseconds that the spans hold, and after the file is opened again."""
    true = set[int]()
    with tempfile.TemporaryDirectory() as folder:
        covered = Covered(Path(folder) / "covered.sqlite")
        for adding, begin, end in steps:
            (covered.add if adding else covered.forget)("a", "bars", "BTC", begin, end)
            true = true | set(range(begin, end)) if adding else true - set(range(begin, end))
        covered.close()
        again = Covered(Path(folder) / "covered.sqlite")
        spans, gaps = again.spans("a", "bars", "BTC"), again.gaps("a", "bars", "BTC", 5, 50)
        assert again.summary("a", "bars") == ((1, min(true), max(true) + 1) if true else (0, None, None))
        again.close()
    assert {ms for begin, end in spans for ms in range(begin, end)} == true
    assert all(before[1] < after[0] for before, after in itertools.pairwise(spans)), "they neither overlap nor touch"
    assert {ms for begin, end in gaps for ms in range(begin, end)} == set(range(5, 50)) - true
    assert gaps == sorted(gaps, reverse=True)
