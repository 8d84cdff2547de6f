"""Instants at which something in the calendar ends or begins, and others that are drawn."""

from random import Random

from tests.support.start import MINUTE, to_ms

SPECIAL = tuple(map(to_ms, (
    "2028-02-29T00:00:00Z",  # a leap day begins
    "2028-02-29T23:59:00Z",  # and ends
    "2026-12-31T23:59:00Z",  # a year ends
    "2027-01-01T00:00:00Z",
    "2026-11-30T23:59:00Z",  # a month ends
    "2026-03-29T01:00:00Z",  # clocks change in Europe
    "2026-10-16T07:59:00Z",  # a Friday's options expire, and funding is paid
    "2026-10-16T08:00:00Z",
    "2026-12-25T08:00:00Z",  # a quarter's futures expire
    "2026-07-15T16:00:00Z",  # funding is paid
    "2026-11-21T12:34:00Z",  # a Saturday
    "2026-08-09T15:00:00Z",  # midnight in Seoul, of a Sunday
)))  # fmt: skip
# By then every simulated venue has opened; before, the lists of some are empty.
FIRST_MS, LAST_MS = to_ms("2025-03-01T00:00:00Z"), to_ms("2029-01-01T00:00:00Z")


def starts(count: int, seed: int) -> list[int]:
    """The first special instants, and where more are wanted, whole minutes that are drawn, at least a minute apart."""
    random, found = Random(seed), dict.fromkeys(SPECIAL[:count])
    while len(found) < count:
        found[random.randrange(FIRST_MS, LAST_MS, MINUTE)] = None
    return sorted(found)
