"""A series request in its canonical form, by the metric's definition and the tiers of the edition."""

from dataclasses import dataclass

from serve.catalog import Metric
from serve.edition import Edition
from serve.errors import ApiError, BadParameter
from serve.params import Values
from serve.timerange import Span, aligned, check_length, choose_tier, span_of


@dataclass(frozen=True)
class SeriesQuery:
    """Two requests for the same series have the same query. A market fixes base, venue and type."""

    metric: str
    base: str
    market: str | None
    venue: str | None
    type: str
    step: str
    step_ms: int
    start: int
    end: int
    format: str

    @property
    def span(self) -> Span:
        """The range, from the start of its first bucket."""
        return Span(self.start, self.end)

    @property
    def table(self) -> str:
        """The tier that answers it: a market's, a coin's on one venue, or a coin's on all venues."""
        return f"series_{'market' if self.market else 'venue' if self.venue else 'base'}_{self.step}"

    @property
    def condition(self) -> str:
        """Which rows of the table it means. Literals, because DuckDB plans a statement with parameters twice."""
        market = {"market_id": self.market}
        wanted = market if self.market else {"type": self.type, "venue": self.venue}
        terms = [f"{column} = {literal(value)}" for column, value in {"base": self.base, **wanted}.items() if value]
        return " and ".join([*terms, f"t >= {self.start:d}", f"t < {self.end:d}"])


def resolve_series(values: Values, edition: Edition) -> SeriesQuery:
    """The canonical query, or the 400 or 404 that the request deserves."""
    metric = edition.catalog.by_name.get(values["metric"])
    if metric is None:
        names = edition.catalog.names
        raise BadParameter("metric", values["metric"], "available: " + ", ".join(names), names)
    base, market, venue, kind = _selectors(values, metric, edition)
    span = span_of(values["start"], values["end"], values["range"], edition.as_of_ms)
    check_length(span, metric.max_range_d, metric.max_range_with_key_d)
    widths = {tier.step: tier.step_ms for tier in edition.tiers}
    tier = choose_tier(edition.tiers, span, widths.get(values["step"], 0), edition.as_of_ms)
    span = aligned(span, tier.step_ms)
    return SeriesQuery(metric.name, base, market, venue, kind, *tier[:2], *span, values["format"])


def literal(text: str) -> str:
    """A string as SQL writes it; the quote is the only character with a meaning inside."""
    return "'" + text.replace("'", "''") + "'"


def _selectors(values: Values, metric: Metric, edition: Edition) -> tuple[str, str | None, str | None, str]:
    """Coin, market, venue and type."""
    given = [name for name in ("base", "market") if values[name] is not None]
    if len(given) != 1:
        raise ApiError(400, f"base, market: give exactly one of them, got {' and '.join(given) or 'neither'}")
    if given[0] not in metric.selectors:
        raise ApiError(400, f"{given[0]}: {metric.name} takes {' or '.join(metric.selectors)} only")
    kind, types = values["type"], ", ".join(metric.types)
    if kind is not None and kind not in metric.types:
        raise BadParameter("type", kind, f"for {metric.name} use one of {types}", metric.types)
    if given == ["market"]:
        return _market(values, metric, edition)
    base = edition.base(values["base"])
    if base is None:
        raise ApiError(404, "unknown coin")
    return base, None, values["venue"], kind or ("perp" if "perp" in metric.types else metric.types[0])


def _market(values: Values, metric: Metric, edition: Edition) -> tuple[str, str, str, str]:
    market_id = values["market"]
    market = edition.markets.get(market_id)
    if market is None:
        raise ApiError(404, "unknown market")
    for name, own in (("venue", market.venue), ("type", market.type)):
        if values[name] not in (None, own):
            raise BadParameter(name, values[name], f"{market_id} has {own}: leave {name} out", [own])
    if market.type not in metric.types:
        raise BadParameter("market", market_id, f"{metric.name} has {', '.join(metric.types)} markets only")
    return market.base, market_id, market.venue, market.type
