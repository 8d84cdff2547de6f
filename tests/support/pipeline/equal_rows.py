"""Two warehouses compared table by table: what was added in another order may differ in the last digits."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from orchestration.warehouse.writer import literals

# What the models write for a window alone.
OF_A_WINDOW = ("raw_window", "touched_markets", "int_touched_minutes")
LAST_DIGITS = 1e-9


def differing(one: str, other: str, without: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The tables whose rows differ, each with an example; `without` names the columns that are not compared, with the
    table `*` for all."""
    with duckdb.connect() as con:
        con.execute(f"attach {literals(one)} as one (read_only); attach {literals(other)} as other (read_only)")
        return dict(_differing(con, without))


def _differing(con: duckdb.DuckDBPyConnection, without: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str]]:
    names = con.execute(
        "select table_name from duckdb_tables() where database_name = 'one' and schema_name = 'main' "
        f"and not starts_with(table_name, 'staged_') and table_name not in ({literals(*OF_A_WINDOW)}) order by 1"
    ).fetchall()
    for (name,) in names:
        left_out = {*without.get("*", ()), *without.get(name, ())}
        columns = [
            f'"{column}"'
            for (column, *_) in con.execute(f'describe one.main."{name}"').fetchall()
            if column not in left_out
        ]
        rows = [f'select {", ".join(columns)} from {side}.main."{name}"' for side in ("one", "other")]
        # What is equal to the last digit is not read. The rest is few, and is sorted by what is no number of its own.
        ours, theirs = (
            con.execute(f"{first} except all {second}").fetchall() for first, second in (rows, reversed(rows))
        )
        if len(ours) != len(theirs):
            yield name, f"{len(ours)} rows are {len(theirs)} other ones"
            continue
        for row, their in zip(sorted(ours, key=_exact), sorted(theirs, key=_exact), strict=True):
            if not _close(row, their):
                yield name, f"{row} is {their}"
                break


def assert_close(found: Sequence[float], expected: Sequence[float], where: str) -> None:
    """The numbers are as near as `pytest.approx(rel=1e-9, nan_ok=True)` allows, which takes a minute for the millions
    of a warehouse."""
    ours, theirs = np.array(found, dtype=float), np.array(expected, dtype=float)
    assert ours.shape == theirs.shape, where
    equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        near = np.abs(ours - theirs) <= np.maximum(LAST_DIGITS * np.abs(theirs), 1e-12)
    # An infinite number is near nothing else.
    wrong = np.flatnonzero(~(equal | (near & np.isfinite(theirs))))
    assert not wrong.size, (where, wrong.size, [(ours[at], theirs[at]) for at in wrong[:5]])


def _exact(row: tuple[Any, ...]) -> str:
    """The values of a row that are no fractions."""
    return repr([value for value in row if not _has_float(value)])


def _has_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_float, value.values()))
    return any(map(_has_float, value)) if isinstance(value, list | tuple) else isinstance(value, float)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return (
            isinstance(other, dict) and one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
        )
    if isinstance(one, list | tuple):
        same = isinstance(other, list | tuple) and len(one) == len(other)
        return same and all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=LAST_DIGITS * LAST_DIGITS)
    return bool(one == other)
