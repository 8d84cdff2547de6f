"""The time range of a series request and the tier that holds it. All times in UTC epoch milliseconds."""

from collections.abc import Callable, Sequence
from math import log

from serve.contract.errors import ApiError, BadParameter, argument_details
from serve.contract.parameters import Duration
from serve.replica.catalog import Tier
from serve.replica.units import UNIT_MS, Span

DEFAULT_RANGE_MS = UNIT_MS["d"]
POINT_LIMIT, POINT_LIMIT_WITH_KEY = 1500, 6000  # a response holds fewer


def span_of(start: int | None, end: int | None, length: int | None, now: int) -> Span:
    """The range that start, end and range define together; `now` is the edition's as_of."""
    if start is None:
        end = now if end is None else end
        return Span(end - (length or DEFAULT_RANGE_MS), end)
    if end is None:
        if length is None:
            raise ApiError(
                400,
                "start: needs end or range beside it",
                details=argument_details("start", start, "with end or range"),
            )
        # A start after as_of is valid: the range is empty.
        return Span(start, max(start, min(start + length, now)))
    if end <= start:
        raise BadParameter("end", str(end), f"it must be after start ({start})")
    return Span(start, end)


def check_length(span: Span, asked: Duration | None, max_days: int, max_days_with_key: int, keyed: bool) -> None:
    """Raises a 400 that names the maximum if the range is longer than the metric allows: the `range` of the
    request, even if part of it is in the future, else the time between start and end."""
    most = max(max_days, max_days_with_key) if keyed else max_days
    if (asked or span.end - span.start) > most * UNIT_MS["d"]:
        more = f" ({max_days_with_key}d with an API key)" if max_days_with_key > most else ""
        got = asked.text if asked else f"{(span.end - span.start) / UNIT_MS['d']:.6g}d"
        details = argument_details("range", got, f"at most {most}d{more}", f"{most}d")
        raise ApiError(400, f"range: {got} is too long; at most {most}d{more}", details=details)


def choose_tier(
    tiers: Sequence[Tier],
    span: Span,
    wanted_ms: int,
    now: int,
    limit: int = POINT_LIMIT,
    elsewhere: Callable[[Tier], bool] = lambda tier: False,
) -> Tier:
    """The finest tier of at least `wanted_ms` with fewer than `limit` points in the range that still retains its start,
    or whose step has it `elsewhere`.

    If no tier retains it, the coarsest: it has what is left of the range.
    """
    fitting = [tier for tier in tiers if tier.step_ms >= wanted_ms and points(span, tier.step_ms) < limit]
    if not fitting:
        longest = max(tier.step_ms for tier in tiers) * (limit - 2) // UNIT_MS["d"]
        details = argument_details(
            "range", f"{(span.end - span.start) / UNIT_MS['d']:.6g}d", f"at most {longest}d", f"{longest}d"
        )
        raise ApiError(400, f"range: too long for the coarsest step; at most {longest}d", details=details)
    for tier in fitting:
        if tier.keep_days is None or span.start >= now - tier.keep_days * UNIT_MS["d"] or elsewhere(tier):
            return tier
    return fitting[-1]


def step_for_points(tiers: Sequence[Tier], span: Span, count: int) -> int:
    """The step of the tier whose number of points in the range has the ratio nearest to 1 to `count`."""
    return min(tiers, key=lambda tier: abs(log(max(points(span, tier.step_ms), 1) / count))).step_ms


def aligned(span: Span, step_ms: int) -> Span:
    """The range from the start of its first bucket."""
    return Span(span.start - span.start % step_ms, span.end)


def points(span: Span, step_ms: int) -> int:
    """The number of buckets in the range, also partial ones."""
    return -((span.start - span.start % step_ms - span.end) // step_ms)
