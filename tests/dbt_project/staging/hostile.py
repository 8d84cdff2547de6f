"""Bodies of the venues with hostile values in some of their rows: which rows, and what must then stay as it was."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

# What a venue might send instead of a value, by kind. Absent ones are no rejection unless the field is required.
ABSENT: dict[str, list[Any]] = {"missing": [...], "null": [None], "empty": [""]}
HOSTILE: dict[str, list[Any]] = {
    **ABSENT,
    "not a number": ["NaN", "nan", "Infinity", "-inf", "1e999", "-1e999", "--", "0x1F"],
    "negative": ["-1", -1, "-0.000001", -9223372036854775808],
    "zero": ["0", 0, "0.000"],
    "huge": ["9223372036854775807", 2**63 - 1, 2**64, "18446744073709551616", 1e300, "1e300", 10**30],
    "wrong type": [True, {"a": 1}, [1, 2], [[]], {}, "true", [None]],
    "long text": ["x" * 100_000, "\u0000", "'; drop table x; --", "💥" * 40],
    "future": [4102444800001, "253402300799000", "253402300799999999", "9999-12-31T23:59:59Z", "2099-01-01"],
    "past": ["1", 1000, "-62135596800000", "0001-01-01T00:00:00Z"],
}
# Of the rows of a list, one in this many is changed: a body of which most rows are unusable is not used at all.
ONE_IN = 5


@dataclass
class Change:
    """What was put into the bodies: how many values, and the texts that name the markets whose rows they were in."""

    values: int = 0
    names: dict[str, set[str]] = field(default_factory=dict)
    endpoints: set[tuple[str, str]] = field(default_factory=set)


def lists_of_rows(value: Any) -> Iterator[list[Any]]:
    """All lists of objects or of lists in a body, the outermost ones."""
    if isinstance(value, list) and len(value) > 2 and all(isinstance(one, (dict, list)) for one in value):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from lists_of_rows(one)


def texts(value: Any) -> Iterator[str]:
    """All texts in a row, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts(one)


def changed(rows: list[dict[str, Any]], seed: int, kinds: list[str]) -> tuple[list[dict[str, Any]], Change]:
    """The landed rows with hostile values: each field of each list of a body in some of its rows."""
    random, change, out = Random(seed), Change(), []
    for row in rows:
        names = change.names.setdefault(row["venue"], set())
        try:
            body = json.loads(row["body"])
        except (TypeError, ValueError):
            out.append(row)
            continue
        universe = []
        if row["venue"] == "hyperliquid" and isinstance(body, list) and body and isinstance(body[0], dict):
            universe = [one["name"] for one in body[0].get("universe", [])]
        for listed in lists_of_rows(body):
            keyed = row["key"] != "" and not any(isinstance(one, dict) and "symbol" in one for one in listed)
            if keyed and random.randrange(ONE_IN):
                continue
            start = random.randrange(ONE_IN)
            for n in range(start, len(listed), ONE_IN):
                one = listed[n]
                places = list(one) if isinstance(one, dict) else list(range(len(one)))
                if not places:
                    continue
                names |= {*texts(one), row["key"]} | ({universe[n]} if len(universe) == len(listed) else set())
                place = places[(n // ONE_IN + start) % len(places)]
                value = random.choice(HOSTILE[random.choice(kinds)])
                if value is not ...:
                    one[place] = value
                elif isinstance(one, dict):
                    del one[place]
                else:
                    one[place] = None
                change.values += 1
                change.endpoints.add((row["venue"], row["endpoint"]))
        out.append({**row, "body": json.dumps(body)})
    return out, change
