"""The canonical form of a series request, from the metric's definition and the tiers of the edition."""

from dataclasses import dataclass
from typing import NamedTuple

from serve.contract.errors import ApiError, BadParameter, argument_details
from serve.contract.known import known_coin, known_market
from serve.contract.parameters import Param, Values, coin, epoch_ms, market, one_of, venue, window
from serve.queries import file_minutes
from serve.queries.as_known import VIEWS, check_known_at, known_tiers, span_known
from serve.queries.time_range import (
    POINT_LIMIT,
    POINT_LIMIT_WITH_KEY,
    aligned,
    check_length,
    choose_tier,
    span_of,
    step_for_points,
)
from serve.replica.catalog import Metric, Tier
from serve.replica.edition import Edition
from serve.replica.units import Span

# The step that gives as many points as the limits allow, of a range that it has.
AUTO = "auto"
# A step is not raised, for lack of data, to one with fewer buckets in the range.
FEWEST_POINTS = 8
ONE_OF_BOTH = "Exactly one of base and market, unless the metric is of all coins."
SELECTION: dict[str, Param] = {
    "base": coin(f"Coin, in any case. {ONE_OF_BOTH}"),
    "market": market(f"One market. {ONE_OF_BOTH}"),
    **window("Length of the range: a number and m, h, d, w or y (1d without it).", "30d"),
    "venue": venue("One exchange; all of them without it."),
    "type": one_of("Kind of market (perp without it).", "perp", "spot", "all"),
}
"""Which series, and when: the parameters of every endpoint that reads one."""
AS_KNOWN_AT = epoch_ms(
    "The series as it was served when the newest data was of this time: within the horizon of 7 days, in steps of 5m to"
    " 4h."
)
KNOWN_TTL_S = 3600
"""How long a client may keep what was known then: it does not change any more."""


@dataclass(frozen=True)
class SeriesQuery:
    """A canonical series request: equal requests have equal queries. A market determines base, venue and type.

    coarser    the tiers that may have more of the range, where the step is free and the range begins before the
               recording
    coarsened  why one of them was taken
    of_files   the tier of the step no longer has the start of the range: it is read from files
    by         `venue`: each venue's series of the coin, instead of one of all venues
    """

    metric: str
    base: str | None
    market: str | None
    venue: str | None
    type: str
    kind: str | None
    step: str
    step_ms: int
    start: int
    end: int
    format: str
    coverage: bool = False
    known_at: int | None = None
    coarser: tuple[Tier, ...] = ()
    coarsened: str | None = None
    of_files: bool = False
    by: str | None = None

    @property
    def span(self) -> Span:
        """The range, from the start of its first bucket."""
        return Span(self.start, self.end)

    @property
    def selector(self) -> str:
        """The selection: a market, a coin on one venue or on each, a coin, or all coins."""
        return "market" if self.market else "venue" if self.venue or self.by else "base" if self.base else "all"

    @property
    def combined(self) -> bool:
        """Whether the series is one of all venues that its metric combines."""
        return not (self.venue or self.by)

    def table(self, family: str) -> str:
        """The table of a family (`series_base`) that has the rows, or the view."""
        if self.of_files:
            return file_minutes.VIEWS[family]
        return f"{family}_{self.step}" if self.known_at is None else VIEWS[family]


class Selected(NamedTuple):
    """The canonical selection of a request."""

    base: str | None
    market: str | None
    venue: str | None
    type: str


def resolve_series(
    values: Values, edition: Edition, keyed: bool, points_wanted: int | None = None, files: bool = True
) -> SeriesQuery:
    """The canonical query; raises the 400 or 404 of an invalid request.

    Without a step, the finest that the limits allow, or the one that gives about `points_wanted` points. Without
    `files`, of the tiers alone.
    """
    metric = edition.catalog.by_name.get(values["metric"])
    if metric is None:
        names = edition.catalog.names
        raise BadParameter("metric", values["metric"], "available: " + ", ".join(names), names)
    kind = _kind(values["kind"], metric, edition)
    selected = _selected(values, metric, edition)
    by = _by(values.get("by"), selected, metric)
    known_by = "since" if "since" in values else "as_known_at"
    known_at: int | None = values.get(known_by)
    if known_at is not None:
        check_known_at(known_by, known_at, metric, values["step"], edition)
    now = edition.as_of_ms if known_at is None else known_at
    tiers = edition.tiers if known_at is None else known_tiers(edition.tiers)
    span = span_of(values["start"], values["end"], values["range"], now)
    asked = None if values["start"] is not None and values["end"] is not None else values["range"]
    check_length(span, asked, metric.max_range_d, metric.max_range_with_key_d, keyed)
    widths = {tier.step: tier.step_ms for tier in edition.tiers}
    limit = POINT_LIMIT_WITH_KEY if keyed else POINT_LIMIT
    known = edition.catalog.steps if points_wanted else (*edition.catalog.steps, AUTO)
    if values["step"] is not None and values["step"] not in known:
        raise BadParameter("step", values["step"], "use one of " + ", ".join(known), known)
    usual = step_for_points(tiers, span, points_wanted) if points_wanted and values["step"] is None else 0
    wanted = max(widths.get(values["step"], usual), widths.get(metric.finest, 0))

    def of_files(tier: Tier) -> bool:
        return files and known_at is None and file_minutes.is_of_files(edition, metric, selected.base, tier, span.start)

    tier = choose_tier(tiers, span, wanted, edition.as_of_ms, limit, of_files)
    if known_at is not None:
        span = span_known(known_by, span, known_at, edition)
    coarser: tuple[Tier, ...] = ()
    if values["step"] in (None, AUTO) and known_at is None and span.start < (edition.recorded_since_ms or span.end):
        coarser = tuple(one for one in tiers if tier.step_ms < one.step_ms <= (span.end - span.start) // FEWEST_POINTS)
    span = aligned(span, tier.step_ms)
    coverage = values["coverage"] == "1"
    return SeriesQuery(
        metric.name, *selected, kind, *tier[:2], *span, values["format"], coverage, known_at, coarser,
        of_files=of_files(tier), by=by,
    )  # fmt: skip


def _by(asked: str | None, selected: Selected, metric: Metric) -> str | None:
    if asked is not None and selected.base is None:
        raise BadParameter("by", asked, f"{metric.name} is of all coins together: leave by out")
    if asked is not None and selected.venue is not None:
        narrowed = "market" if selected.market else "venue"
        out = "by" if metric.selectors == ("market",) else f"by or {narrowed}"
        raise BadParameter("by", asked, f"the series is of {selected.venue} alone: leave {out} out")
    return asked


def _kind(asked: str | None, metric: Metric, edition: Edition) -> str | None:
    known = edition.catalog.kinds
    if asked is not None and asked not in known:
        raise BadParameter("kind", asked, "use one of " + ", ".join(known), known)
    if asked is not None and asked not in metric.kinds:
        having = ", ".join(known.name for known in edition.catalog.metrics if asked in known.kinds)
        where = f"; it is for {having}" if having else ""
        raise BadParameter("kind", asked, f"{metric.name} has no such kind{where}", metric.kinds)
    return asked or next(iter(metric.kinds), None)


def _selected(values: Values, metric: Metric, edition: Edition) -> Selected:
    given = [name for name in ("base", "market") if values[name] is not None]
    kind = values["type"]
    if kind is not None and not metric.types:
        raise BadParameter("type", kind, f"{metric.name} has no type to choose: leave it out")
    if kind is not None and kind not in metric.types:
        raise BadParameter("type", kind, f"for {metric.name} use one of {', '.join(metric.types)}", metric.types)
    if "all" in metric.selectors:
        for name in ("base", "market", "venue"):
            if values[name] is not None:
                raise BadParameter(name, values[name], f"{metric.name} is of all coins together: leave {name} out")
        return Selected(None, None, None, metric.fixed_type)
    if len(given) != 1:
        got = " and ".join(given) or "neither"
        details = argument_details("base, market", got, "exactly one of them")
        raise ApiError(400, f"base, market: give exactly one of them, got {got}", details=details)
    if given[0] not in metric.selectors:
        only = f"{metric.name} takes {' or '.join(metric.selectors)} only"
        raise ApiError(400, f"{given[0]}: {only}", details=argument_details(given[0], values[given[0]], only))
    if given == ["market"]:
        return _market(values, metric, edition)
    base = known_coin(edition, values["base"])
    first = "perp" if "perp" in metric.market_types else metric.market_types[0]
    return Selected(base, None, values["venue"], kind or first)


def _market(values: Values, metric: Metric, edition: Edition) -> Selected:
    market_id = values["market"]
    market = known_market(edition, market_id)
    for name, own in (("venue", market.venue), ("type", market.type)):
        if values[name] not in (None, own):
            raise BadParameter(name, values[name], f"{market_id} has {own}: leave {name} out", [own])
    if market.type not in metric.market_types:
        kinds = " and ".join(kind for kind in metric.market_types if kind != "all")
        raise BadParameter("market", market_id, f"{metric.name} has {kinds} markets only")
    return Selected(market.base, market_id, market.venue, market.type)
