"""Where one number of a series came from: the markets, minutes and raw responses in its bucket."""

from dataclasses import replace
from typing import Any, NamedTuple

from serve.contract.errors import BadParameter
from serve.contract.known import known_market
from serve.contract.parameters import Values
from serve.queries.evidence import Wanted, find_responses
from serve.queries.series_query import SeriesQuery, resolve_series
from serve.queries.series_sql import markets_sql, series_sql
from serve.replica.catalog import Metric
from serve.replica.edition import Edition, Reader
from serve.replica.units import Span


class Asked(NamedTuple):
    """A canonical request: the series of one bucket, and what to show of it."""

    series: SeriesQuery
    of: str | None
    minute: int | None
    bodies: bool
    after: str | None
    limit: int


def resolve_explain(values: Values, edition: Edition, keyed: bool) -> Asked:
    """The bucket that holds `t`, of the step that the same request has as a series."""
    t = values["t"]
    if t >= edition.as_of_ms:
        raise BadParameter("t", str(t), f"it must be before the edition's as_of ({edition.as_of_ms})")
    given = dict(values) | {"format": "json", "coverage": "0"}
    if not any(values[name] is not None for name in ("range", "start", "end")):
        given |= {"start": t, "end": t + 1}
    # Of a minute of a file its hour is explained: how it came here is known of the hour.
    whole = resolve_series(given, edition, keyed, files=False)
    if not whole.start <= t < whole.end:
        raise BadParameter("t", str(t), f"it must be in the range, from {whole.start} to {whole.end}")
    start = t - t % whole.step_ms
    series = replace(whole, start=start, end=start + whole.step_ms)
    if values["of"] is not None:
        known_market(edition, values["of"])
    if values["minute"] is not None and not start <= values["minute"] < series.end:
        raise BadParameter("minute", str(values["minute"]), f"it must be in the bucket, from {start} to {series.end}")
    return Asked(series, values["of"], values["minute"], values["body"] == "1", values["after"], int(values["limit"]))


def read_explanation(query: Asked, db: Reader) -> dict[str, Any]:
    """The number, the query that gives it, the value of each market, and the evidence of one."""
    series = query.series
    found = db.edition.catalog.by_name[series.metric]
    sql = series_sql(series, db.edition)
    markets = _by_market(db, series, series.step)
    served = db.rows(sql)
    names = [name for name, field in found.fields.items() if not field.running]
    listed = sorted(markets)
    page = [one for one in listed if query.after is None or one > query.after]
    selected = {"base": None if series.market else series.base, "market": series.market, "venue": series.venue}
    return {
        "metric": series.metric,
        **selected,
        "type": series.type,
        "kind": series.kind,
        "step": series.step_ms,
        "t": series.start,
        "end": series.end,
        "values": {name: served[0][name] if served else None for name in found.fields},
        "formula": found.formula,
        "sql": sql,
        "sums": {name: _sum([values[0]["values"][name] for values in markets.values()]) for name in names},
        "total": len(markets),
        "markets": [{"market_id": one, "values": markets[one][0]["values"]} for one in page[: query.limit]],
        "next": page[query.limit - 1] if len(page) > query.limit else None,
        "evidence": _evidence(query, db, found, markets),
        "source": f"series_{series.step}@e{db.edition.edition_id}",
        "server_ts": db.edition.as_of_ms,
    }


def _by_market(db: Reader, series: SeriesQuery, step: str) -> dict[str, list[dict[str, Any]]]:
    """The parts of each market in the bucket, by time, with the values of the metric's fields."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in db.rows(markets_sql(series, db.edition, step, series.start, series.end) + " order by t"):
        one, t = row.pop("market_id"), row.pop("t")
        if any(value is not None for value in row.values()):
            found.setdefault(one, []).append({"t": t, "values": row})
    return found


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _evidence(
    query: Asked, db: Reader, metric: Metric, markets: dict[str, list[dict[str, Any]]]
) -> dict[str, Any] | None:
    """The parts of one market, and the responses that one of them came from."""
    first = next(name for name, field in metric.fields.items() if not field.running)

    def size(one: str) -> float:
        return abs(float(markets[one][0]["values"][first] or 0))

    of = query.of or max(sorted(markets), key=size, default=None)
    if of is None:
        return None
    step, parts = _parts(query.series, db, metric, of)
    shown: dict[str, Any] = {"market_id": of, "step": step, "parts": parts, "t": None, "responses": []}
    if query.minute is None:
        valued = [part for part in parts if any(part["values"].values())] or parts
    else:
        valued = [part for part in parts if part["t"] <= query.minute < part["t"] + step]
    if not valued:
        return {**shown, "reason": f"{of} has no value there"}
    at = valued[-1]["t"]
    venue, kind, symbol = of.split(":", 2)
    endpoints = metric.sources_of(query.series.kind)
    found = find_responses(db, Wanted(venue, kind, symbol, Span(at, at + step), endpoints), query.bodies)
    return {**shown, "t": at, "responses": found.responses, "reason": found.reason}


def _parts(series: SeriesQuery, db: Reader, metric: Metric, of: str) -> tuple[int, list[dict[str, Any]]]:
    """The width and the values of a market's parts of the bucket, as fine as they are kept."""
    one = db.edition.markets[of]
    alone = replace(series, market=of, base=one.base, venue=one.venue, type=one.type)
    widths = {tier.step: tier.step_ms for tier in db.edition.tiers}
    for name, width in widths.items():
        if widths.get(metric.finest, 0) <= width <= series.step_ms and (found := _by_market(db, alone, name).get(of)):
            return width, found
    return series.step_ms, []
