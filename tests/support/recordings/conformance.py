"""Whether a simulator's body is of the same make as a body that the venue really sent.

    differences(real, simulated) -> list[str]      # empty: no difference; else one sentence each

Both are parsed JSON (several bodies of one endpoint: pass a list of them on both sides). Compared are, at each path:

keys        the same keys; a key that the real objects always have must always be there
types       null, true/false, number, numeric text ("12.5"), empty text, time text ("2025-01-31T…"), other text, object,
            list. Whatever the simulated side has, the real side has somewhere: null and "" only where it has them.
            A path that is null in every real body says nothing about the type.
lists       the elements of a list are compared as a union: one key that some element has is a key of all of them.
            Rows that are lists themselves (candles, book levels) are compared position by position, and in length.
magnitude   the medians of the non-zero numbers (and numeric texts) of a path are within a factor `tolerance`
            (10,000); where all real numbers are times of 2010..2040 in s, ms, µs or ns, the simulated must be in the
            same unit.

A path reads `result.list[].lastPrice`; the positions of a row `[][4]`; an object whose keys are data `data.*.price`.
Options name keys ("lastPrice") or whole paths ("result.list[].lastPrice"):

optional    may be missing on either side, also in part
unscaled    no comparison of magnitude
maps        objects whose keys are data (symbols, times): their values are compared as a union ("" is the whole body)
ignored     neither compared nor looked into
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

_NUMERIC = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)")
_UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
_EARLIEST, _LATEST = 1_262_304_000, 2_208_988_800


@dataclass
class _Shape:
    """The values seen at one path."""

    kinds: set[str] = field(default_factory=set)
    numbers: list[float] = field(default_factory=list)
    objects: int = 0
    keys: dict[str, "_Shape"] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    items: "_Shape | None" = None
    positions: list["_Shape"] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Options:
    optional: Collection[str]
    unscaled: Collection[str]
    maps: Collection[str]
    ignored: Collection[str]
    tolerance: float


def differences(
    real: Any,
    simulated: Any,
    *,
    optional: Collection[str] = (),
    unscaled: Collection[str] = (),
    maps: Collection[str] = (),
    ignored: Collection[str] = (),
    tolerance: float = 1e4,
) -> list[str]:
    """Every structural difference between a real body and a simulated one; see above."""
    options = _Options(optional, unscaled, maps, ignored, tolerance)
    shapes = (_Shape(), _Shape())
    for shape, value in zip(shapes, (real, simulated), strict=True):
        _see(shape, value, "", options, in_list=False)
    return list(_compared(*shapes, "", options))


def _named(path: str, names: Collection[str]) -> bool:
    return path in names or path.rpartition(".")[2] in names


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "list"
    if value == "":
        return "empty text"
    if _NUMERIC.fullmatch(value):
        return "numeric text"
    return "time text" if _TIME.match(value) else "text"


def _see(shape: _Shape, value: Any, path: str, options: _Options, in_list: bool) -> None:
    kind = _kind(value)
    shape.kinds.add(kind)
    if kind in ("number", "numeric text"):
        shape.numbers.append(float(value))
    elif kind == "object":
        shape.objects += 1
        for key, one in value.items():
            name = "*" if _named(path, options.maps) else key
            inner = f"{path}.{name}".lstrip(".")
            if not _named(inner, options.ignored):
                shape.seen[name] = shape.seen.get(name, 0) + 1
                _see(shape.keys.setdefault(name, _Shape()), one, inner, options, in_list=False)
    elif kind == "list" and in_list and not any(isinstance(one, dict | list) for one in value):
        shape.lengths.add(len(value))
        for at, one in enumerate(value):
            if at == len(shape.positions):
                shape.positions.append(_Shape())
            _see(shape.positions[at], one, f"{path}[{at}]", options, in_list=True)
    elif kind == "list":
        for one in value:
            shape.items = shape.items or _Shape()
            _see(shape.items, one, f"{path}[]", options, in_list=True)


def _compared(real: _Shape, ours: _Shape, path: str, options: _Options) -> Iterator[str]:
    where = path or "the body"
    if real.kinds <= {"null"}:
        return
    if odd := ours.kinds - real.kinds:
        yield f"{where}: {', '.join(sorted(odd))}, but really {', '.join(sorted(real.kinds))}"
    elif not _named(path, options.unscaled):
        yield from _scaled(real.numbers, ours.numbers, where, options.tolerance)
    yield from _keys(real, ours, path, options)
    if real.items and ours.items:
        yield from _compared(real.items, ours.items, f"{path}[]", options)
    elif real.items and "list" in ours.kinds and not _named(path, options.optional):
        yield f"{where}: an empty list, but really there are elements"
    if real.lengths and ours.lengths - real.lengths:
        yield f"{where}: rows of {sorted(ours.lengths)} values, but really of {sorted(real.lengths)}"
    for at, (one, other) in enumerate(zip(real.positions, ours.positions, strict=False)):
        yield from _compared(one, other, f"{path}[{at}]", options)


def _keys(real: _Shape, ours: _Shape, path: str, options: _Options) -> Iterator[str]:
    if not (real.objects and ours.objects):
        return
    for key in [*real.keys, *(name for name in ours.keys if name not in real.keys)]:
        inner = f"{path}.{key}".lstrip(".")
        loose = _named(inner, options.optional)
        if key in real.keys and key in ours.keys:
            if real.seen[key] == real.objects and ours.seen[key] < ours.objects and not loose and key != "*":
                yield f"{inner}: missing in some, but really always there"
            yield from _compared(real.keys[key], ours.keys[key], inner, options)
        elif not loose:
            yield f"{inner}: {'missing' if key in real.keys else 'there, but really there is no such key'}"


def _unit(numbers: list[float]) -> str | None:
    for name, scale in _UNITS.items():
        if all(_EARLIEST * scale <= number <= _LATEST * scale for number in numbers):
            return name
    return None


def _scaled(real: list[float], ours: list[float], where: str, tolerance: float) -> Iterator[str]:
    theirs, mine = ([abs(number) for number in numbers if number != 0] for numbers in (real, ours))
    if not theirs or not mine:
        return
    if (unit := _unit(theirs)) is not None:
        if _unit(mine) != unit:
            yield f"{where}: not a time in {unit} (about {median(mine):.6g}, really {median(theirs):.6g})"
        return
    ratio = median(mine) / median(theirs)
    if not 1 / tolerance <= ratio <= tolerance:
        yield f"{where}: about {median(mine):.3g}, but really about {median(theirs):.3g}"
