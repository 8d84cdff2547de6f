"""`tidemark storage`: what recording costs by exchange and endpoint, as a table or JSON."""

from collections import defaultdict
from dataclasses import asdict
from typing import Any

from orchestration.config.settings import Settings
from orchestration.publish.metrics import parts_of
from orchestration.warehouse.storage import recording_costs

YEAR_DAYS = 365
State = dict[str, Any]


def read_storage(settings: Settings, minutes: int) -> State:
    """Bytes of each part of the home, and of a day and a year of recording by exchange and endpoint."""
    measured, costs = recording_costs(settings, minutes)
    day = sum(cost.landed_bytes for cost in costs)
    return {
        "home": str(settings.home),
        "landing": settings.landing,
        "bytes": dict(parts_of(settings)),
        "minutes_measured": measured,
        "landing_bytes_a_day": round(day),
        "landing_bytes_a_year": round(day * YEAR_DAYS),
        "endpoints": [
            {name: value if isinstance(value, str) else round(value) for name, value in asdict(cost).items()}
            for cost in costs
        ],
    }


def as_text(found: State) -> str:
    """The costs as lines of text."""
    lines = [
        f"{found['home']}: {brief(found['bytes'])}",
        f"recording costs {_amount(found['landing_bytes_a_day'])} a day in the landing, "
        f"{_amount(found['landing_bytes_a_year'])} a year; measured on {found['minutes_measured']} minutes, compacted",
        "",
        f"{'exchange':<14} {'endpoint':<24} {'answers/day':>12} {'text/day':>10} {'landing/day':>12} {'share':>6}",
    ]
    total = found["landing_bytes_a_day"] or 1
    by_venue = defaultdict(list)
    for one in found["endpoints"]:
        by_venue[one["venue"]].append(one)
    for venue, ones in sorted(by_venue.items(), key=lambda item: -_sum(item[1])):
        for name, rows in ((f"{len(ones)} endpoints", ones), *((one["endpoint"], [one]) for one in ones)):
            lines.append(
                f"{venue if rows is ones else '':<14} {name:<24} {sum(one['answers'] for one in rows):>12,} "
                f"{_amount(sum(one['text_bytes'] for one in rows)):>10} {_amount(_sum(rows)):>12} "
                f"{_sum(rows) / total:>6.1%}"
            )
    return "\n".join(lines)


def brief(sizes: dict[str, int]) -> str:
    """Bytes of the parts of a home in one line, without those below a megabyte."""
    parts = ", ".join(f"{name} {_amount(size)}" for name, size in _largest(sizes))
    return f"{_amount(sum(sizes.values()))}{f' ({parts})' if parts else ''}"


def _sum(rows: list[State]) -> int:
    return sum(one["landed_bytes"] for one in rows)


def _largest(sizes: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, size) for name, size in sizes.items() if size >= 1e6), key=lambda item: -item[1])


def _amount(size: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
