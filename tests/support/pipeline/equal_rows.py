"""Two warehouses compared table by table: what was added in another order may differ in the last digits."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import duckdb

from orchestration.warehouse.writer import literals

# What the models write for a window alone.
OF_A_WINDOW = ("raw_window", "touched_markets", "int_touched_minutes")
LAST_DIGITS = 1e-9


def of_any_window(table: str) -> bool:
    """Whether a table has the same rows in whichever windows its minutes were built."""
    return not table.startswith("staged_") and table not in OF_A_WINDOW


def every_table(_: str) -> bool:
    """Also the others, of homes that build the same windows last."""
    return True


def differing(
    one: str, other: str, without: Mapping[str, Collection[str]], compared: Callable[[str], bool] = of_any_window
) -> dict[str, str]:
    """The compared tables whose rows differ, each with an example; `without` names the columns that are not compared,
    with the table `*` for all."""
    with duckdb.connect() as con:
        con.execute(f"attach {literals(one)} as one (read_only); attach {literals(other)} as other (read_only)")
        ours, theirs = ({name for name in _tables(con, side) if compared(name)} for side in ("one", "other"))
        found = dict.fromkeys(ours ^ theirs, "only one of them has it")
        return found | dict(_differing(con, sorted(ours & theirs), without))


def _tables(con: duckdb.DuckDBPyConnection, side: str) -> Iterator[str]:
    query = f"select table_name from duckdb_tables() where database_name = '{side}' and schema_name = 'main'"
    return (name for (name,) in con.execute(query).fetchall())


def _differing(
    con: duckdb.DuckDBPyConnection, names: Collection[str], without: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str]]:
    for name in names:
        left_out = {*without.get("*", ()), *without.get(name, ())}
        typed, other_typed = (
            {
                column: kind
                for column, kind, *_ in con.execute(f'describe {side}.main."{name}"').fetchall()
                if column not in left_out
            }
            for side in ("one", "other")
        )
        if typed != other_typed:
            yield name, f"{typed} are {other_typed}"
            continue
        columns = [f'"{column}"' for column in typed]
        rows = [f'select {", ".join(columns)} from {side}.main."{name}"' for side in ("one", "other")]
        # What is equal to the last digit is not read. The rest is few, and is sorted by what is no fraction, then by
        # its fractions: a strike is one.
        ours, theirs = (
            con.execute(f"{first} except all {second}").fetchall() for first, second in (rows, reversed(rows))
        )
        if len(ours) != len(theirs):
            yield name, f"{len(ours)} rows are {len(theirs)} other ones"
            continue
        for row, their in zip(sorted(ours, key=_order), sorted(theirs, key=_order), strict=True):
            if not _close(row, their):
                yield name, f"{row} is {their}"
                break


def _order(row: tuple[Any, ...]) -> tuple[str, list[float]]:
    """The values of a row that are no fractions, and its fractions."""
    return repr([value for value in row if not _has_float(value)]), [value for value in row if isinstance(value, float)]


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
