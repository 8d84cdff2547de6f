"""Hash-seeded value noise: any point of a series is computed directly, in any order, without state."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)

Octaves = tuple[tuple[int, float], ...]  # (period in steps, amplitude)
Regimes = tuple[tuple[int, Floats], ...]  # (bound in steps, volatility [steps] of the octaves shorter than it)


def key(*parts: object) -> int:
    """A 64-bit key of a name; keys depend on names only, so that adding a series changes no other one."""
    return int.from_bytes(blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest(), "little")


def fraction(*parts: object) -> float:
    """A fixed number in [0, 1) for a name."""
    return (key(*parts) >> 11) * 2.0**-53


def keys(names: list[str], *scope: object) -> Keys:
    """One key per name within a scope such as (seed, 'price')."""
    return np.array([key(*scope, name) for name in names], dtype=np.uint64)


def _mix(x: Keys) -> Keys:
    x = (x ^ (x >> np.uint64(30))) * _A
    x = (x ^ (x >> np.uint64(27))) * _B
    out: Keys = x ^ (x >> np.uint64(31))
    return out


def uniform(series: Keys, cells: NDArray[Any], label: int = 0) -> Floats:
    """Independent numbers in [0, 1) by (series, label, cell); the arguments broadcast."""
    at = cells.astype(np.uint64) * _STEP
    shift = np.uint64(label * int(_A) % 2**64)
    mixed = _mix(_mix(series + shift) + at)
    out: Floats = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return out


def _tailed(u: Floats) -> Floats:
    """Uniform numbers in [-1, 1) transformed to have fat tails."""
    squared = u * u
    return u * (0.55 + 1.2 * squared * squared)


def in_a_row(steps: Ints) -> bool:
    """Whether the steps are consecutive."""
    return len(steps) > 1 and bool(steps[-1] - steps[0] == len(steps) - 1) and bool((np.diff(steps) == 1).all())


def _lattice(series: Keys, cells: Ints, label: int, tailed: bool) -> Floats:
    values = 2.0 * uniform(series[:, None], cells[None, :], label) - 1.0
    return _tailed(values) if tailed else values


def _smooth(share: Floats) -> Floats:
    return share * share * (3.0 - 2.0 * share)


def _points(series: Keys, steps: Ints, period: int, label: int, tailed: bool) -> Floats:
    """One octave at any steps."""
    cell, inside = np.divmod(steps, period)
    cells, where = np.unique(np.concatenate([cell, cell + 1]), return_inverse=True)
    lattice = _lattice(series, cells, label, tailed)
    part: Floats = lattice[:, where[: len(steps)]]
    if period > 1:
        part = part + (lattice[:, where[len(steps) :]] - part) * _smooth(inside / period)
    return part


def _run(series: Keys, steps: Ints, period: int, label: int, tailed: bool) -> Floats:
    """The same to the last bit for consecutive steps: cell by cell, without looking up the cell of each step."""
    begin, end = int(steps[0]), int(steps[-1]) + 1
    first, last = begin // period, (end - 1) // period
    lattice = _lattice(series, np.arange(first, last + 2), label, tailed)
    if period == 1:
        return lattice[:, :-1]
    starts, ends = lattice[:, :-1, None], lattice[:, 1:, None]
    if period <= len(steps):
        share = _smooth(np.arange(period) / period)
        whole = (starts + (ends - starts) * share).reshape(len(series), -1)
        return whole[:, begin - first * period : end - first * period]
    parts = []
    for n, cell in enumerate(range(first, last + 1)):
        inside = np.arange(max(begin, cell * period), min(end, (cell + 1) * period)) - cell * period
        parts.append(starts[:, n] + (ends[:, n] - starts[:, n]) * _smooth(inside / period))
    return np.concatenate(parts, axis=1)


def walk(series: Keys, steps: Ints, octaves: Octaves, tailed_below: int = 0, regimes: Regimes = ()) -> Floats:
    """A continuous path per series at integer steps: array [series, steps].

    Octaves shorter than `tailed_below` have fat tails. `regimes` are of volatility, by bound, the lowest bound first:
    an octave is scaled by the first whose bound it is shorter than.
    """
    total = np.zeros((len(series), len(steps)))
    run = in_a_row(steps)
    for label, (period, amplitude) in enumerate(octaves):
        part = (_run if run else _points)(series, steps, period, label, period < tailed_below)
        scale = next((regime for bound, regime in regimes if period < bound), None)
        total += part * (amplitude if scale is None else amplitude * scale)
    return total


def growing(periods: tuple[int, ...]) -> Octaves:
    """Octaves whose amplitude grows with the square root of the period, as a random walk's does."""
    return tuple((period, float(period) ** 0.5) for period in periods)
