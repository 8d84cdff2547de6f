"""Series as they were served at an earlier time: which are, how far back, and the variables that the views read.

The replica's views `known_market`, `known_base` and `known_venue` have the rows of the series tiers as they were when
the newest data was of the time `asked_known_at_ms`. They are made of the finest tier, so they reach as far back as it.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from serve.contract.errors import BadParameter
from serve.replica.catalog import Catalog, Metric, Tier
from serve.replica.edition import Edition, Reader, literal
from serve.replica.units import MINUTE_MS, UNIT_MS, Span

if TYPE_CHECKING:
    from serve.queries.series_query import SeriesQuery

VIEWS = {"series_market": "known_market", "series_venue": "known_venue", "series_base": "known_base"}
FINEST_MS, COARSEST_MS = 5 * MINUTE_MS, 4 * UNIT_MS["h"]
# The newest known minute is at most this much older than the time, where the recorder was not down for longer.
LOOKBACK_MS = UNIT_MS["d"]


def is_known_later(metric: Metric) -> bool:
    """Whether the metric can be answered as it was known: it is of one coin or market, and of the series tiers."""
    return "all" not in metric.selectors and all(metric.family(name) in VIEWS for name in ("base", "venue", "market"))


def names_known_later(catalog: Catalog) -> list[str]:
    """The names and aliases of the metrics that can."""
    return sorted(name for name, metric in catalog.by_name.items() if is_known_later(metric))


def horizon_ms(edition: Edition) -> int:
    """The earliest time that can be asked."""
    finest = edition.tiers[0]
    return 0 if finest.keep_days is None else edition.as_of_ms - finest.keep_days * UNIT_MS["d"]


def known_tiers(tiers: Iterable[Tier]) -> tuple[Tier, ...]:
    """Those of the tiers whose steps can be asked."""
    return tuple(tier for tier in tiers if FINEST_MS <= tier.step_ms <= COARSEST_MS)


def steps_known_later(catalog: Catalog) -> list[str]:
    """The steps that can be asked."""
    return [tier.step for tier in known_tiers(catalog.tiers)]


def check_known_at(name: str, known_at: int, metric: Metric, step: str | None, edition: Edition) -> None:
    """Raises a 400 that says what is allowed, if the series is not known as it was at this time, the value of the
    parameter `name`."""
    if not is_known_later(metric):
        known = sorted({known.name for known in edition.catalog.metrics if is_known_later(known)})
        raise BadParameter(name, str(known_at), f"not for {metric.name}: it is for {', '.join(known)}")
    horizon, days = horizon_ms(edition), edition.tiers[0].keep_days
    if known_at > edition.as_of_ms:
        raise BadParameter(name, str(known_at), f"use a time up to the newest data, {edition.as_of_ms}")
    if known_at < horizon:
        raise BadParameter(name, str(known_at), f"the horizon is {days} days: use a time from {horizon} on")
    steps = steps_known_later(edition.catalog)
    if step in {tier.step for tier in edition.tiers} - set(steps):
        raise BadParameter("step", str(step), f"with {name} use one of {', '.join(steps)}", steps)


def span_known(name: str, span: Span, known_at: int, edition: Edition) -> Span:
    """The part of the range before that time; raises a 400 if it starts before the horizon."""
    horizon, days = horizon_ms(edition), edition.tiers[0].keep_days
    if span.start < horizon:
        raise BadParameter(
            "start", str(span.start), f"with {name} the horizon is {days} days: use a range from {horizon} on"
        )
    return Span(span.start, max(span.start, min(span.end, known_at)))


def read_as_known(query: "SeriesQuery", db: Reader, known_at: int) -> None:
    """Let the views show what was known at that time, on the reader's own cursor."""
    db.altered().execute(variables(query, known_at))


def variables(query: "SeriesQuery", known_at: int) -> str:
    """The statements after which the views show what was known at that time."""
    asked = {
        "known_at_ms": str(known_at), "from_ms": str(query.start), "to_ms": str(query.end),
        "step_ms": str(query.step_ms), "base": literal(str(query.base)),
    }  # fmt: skip
    return ";\n".join(f"set variable asked_{name} = {value}" for name, value in asked.items())


def newest_minute_known(known_at: int, db: Reader) -> int:
    """Start of the newest minute that was known at that time."""
    sql = f"select max(t) from series_market_1m where known_ms <= {known_at} and t > {known_at - LOOKBACK_MS}"
    newest: int = db.once(("newest_minute", known_at), lambda: db.value(sql) or 0)
    return newest
