"""Hash-seeded value noise: any point directly, in any order, the same in every process."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.market.noise import Floats, fraction, growing, in_a_row, key, keys, uniform, walk

SERIES = keys(["a", "b", "c"], 1, "price")
PERIODS = ((1, 0.5), (7, 1.0), (256, 4.0))
STEPS = st.lists(st.integers(0, 10**8), min_size=1, max_size=30)
quick = settings(max_examples=50)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_a_key_depends_on_its_name_alone_and_a_fraction_lies_in_the_unit_interval(parts: list[str]) -> None:
    assert key(*parts) == key(*parts) != key(*parts, "more")
    assert 0 <= fraction(*parts) < 1


def test_a_key_never_changes() -> None:
    """A year of simulated history depends on it: another hash would be another market."""
    assert key(1, "price", "BTC") == 11186459432852972411
    assert key("a", "b") != key("ab") != key("b", "a")


@quick
@given(STEPS)
def test_a_walk_is_the_same_at_any_point_in_any_order(steps: list[int]) -> None:
    at = np.array(steps)
    whole = walk(SERIES, at, PERIODS, tailed_below=100)
    assert whole.shape == (3, len(steps))
    np.testing.assert_array_equal(walk(SERIES[1:2], at[::-1], PERIODS, tailed_below=100)[0], whole[1, ::-1])


@quick
@given(st.integers(0, 10**8), st.integers(2, 900))
def test_consecutive_steps_equal_steps_computed_one_by_one(first: int, length: int) -> None:
    """Consecutive steps are computed cell by cell: the same to the last bit."""
    run = np.arange(first, first + length)
    found = walk(SERIES, run, PERIODS, tailed_below=100)
    some = np.random.default_rng(first).permutation(run)[:20]
    np.testing.assert_array_equal(found[:, some - first], walk(SERIES, some, PERIODS, tailed_below=100))


def test_uniform_numbers_are_even_and_unlike_by_series_label_and_cell() -> None:
    cells = np.arange(20_000)
    first = uniform(SERIES[:1], cells)
    assert first.min() >= 0
    assert first.max() < 1
    counts = np.histogram(first, bins=20, range=(0, 1))[0]
    assert counts.min() > 850
    assert counts.max() < 1150
    for other in (uniform(SERIES[1:2], cells), uniform(SERIES[:1], cells, 1), uniform(SERIES[:1], cells + 1)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.03


def test_a_volatile_regime_scales_only_octaves_below_its_bound() -> None:
    steps = np.arange(0, 2000)

    def scaled(*times: float) -> Floats:
        bounds = zip((5, 100), times, strict=True)
        return walk(SERIES, steps, PERIODS, 100, tuple((bound, np.full(len(steps), at)) for bound, at in bounds))

    plain = scaled(1, 1)
    np.testing.assert_array_equal(plain, walk(SERIES, steps, PERIODS, 100))
    # The octaves of 1 and 7 steps follow their own regime each, that of 256 steps none.
    np.testing.assert_allclose(scaled(3, 1) - scaled(0, 1), 3 * (plain - scaled(0, 1)), atol=1e-9)
    np.testing.assert_allclose(scaled(0, 3) - scaled(0, 0), 3 * (scaled(0, 1) - scaled(0, 0)), atol=1e-9)
    np.testing.assert_allclose(scaled(0, 0), walk(SERIES, steps, ((1, 0), (7, 0), (256, 4.0))), atol=1e-9)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=6))
def test_steps_in_a_row_are_those_of_a_range(steps: list[int]) -> None:
    assert in_a_row(np.array(steps)) == (len(steps) > 1 and steps == list(range(steps[0], steps[0] + len(steps))))


def test_longer_octaves_move_further() -> None:
    amplitudes = [amplitude for _, amplitude in growing((1, 4, 64, 4096))]
    assert amplitudes == [1.0, 2.0, 8.0, 64.0]
