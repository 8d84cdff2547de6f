"""What was recorded: minutes of each day, and the periods that are missing, by exchange and kind of data."""

from typing import Any, NamedTuple

from serve.contract.parameters import Values
from serve.queries.time_range import check_length, span_of
from serve.replica.edition import Edition, Reader
from serve.replica.units import DAY_MS, Span

MAX_DAYS = 31
"""The longest range of gaps that one request may have."""
COUNTS = {
    "minutes": "Minutes of the day since the recording of the kind began, up to the newest; null before it began.",
    "recorded": "Of these, minutes with everything that was requested.",
    "partial": "Minutes in which some keys or pages failed, or a stream was connected for a part.",
    "venue_error": "Minutes with responses, but no usable one.",
    "venue_unreachable": "Minutes without a response.",
    "not_recorded": "Minutes without a request: the recorder was down.",
}
DAYS_SQL = f"""
with days as (select unnest(range(greatest($first, min(t)), max(t) + 1, {DAY_MS})) as t from coverage_days),
kinds as (select distinct venue, endpoint from coverage_days where t >= $first)
select kinds.venue, kinds.endpoint, list(days.t order by days.t) as t,
    {", ".join(f"list({name} order by days.t) as {name}" for name in COUNTS)}
from kinds cross join days
left join coverage_days as c on c.venue = kinds.venue and c.endpoint = kinds.endpoint and c.t = days.t
group by kinds.venue, kinds.endpoint order by kinds.venue, kinds.endpoint
"""
GAPS_SQL = """
select greatest(start_ms, $start) as "start", least(end_ms, $end) as "end", venue, endpoint, reason
from gaps
where end_ms > $start and start_ms < $end and (venue is null or coalesce(venue = $venue, true))
order by "start", "end", venue nulls first, endpoint
limit $most
"""


class GapsQuery(NamedTuple):
    """The canonical query of a range."""

    venue: str | None
    span: Span


def resolve_gaps(values: Values, edition: Edition, keyed: bool) -> GapsQuery:
    """The canonical query; raises the 400 of a range that is too long."""
    span = span_of(values["start"], values["end"], values["range"], edition.as_of_ms)
    check_length(span, values["range"], MAX_DAYS, MAX_DAYS, keyed)
    return GapsQuery(values["venue"], span)


def read_days(db: Reader, first: int) -> list[dict[str, Any]]:
    """The kinds of each exchange with lists of their minutes: one value for each day `t`, from the day `first` on."""
    return db.rows(DAYS_SQL, {"first": first})


def read_gaps(db: Reader, span: Span, venue: str | None, most: int) -> list[dict[str, Any]]:
    """The periods of the range that were not recorded, of one exchange or all, the earliest first; those of the
    recorder, without an exchange, always."""
    return db.rows(GAPS_SQL, {**span._asdict(), "venue": venue, "most": most})
