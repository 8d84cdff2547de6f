"""The SQL of a series, from the metric's definition and the canonical query."""

from collections.abc import Mapping

from serve.queries.series_query import SeriesQuery
from serve.replica.catalog import READS, Metric
from serve.replica.edition import Edition, literal

NOTHING: Mapping[str, str] = {}


def series_sql(
    query: SeriesQuery, edition: Edition, beside: Mapping[str, str] = NOTHING, *, every_bucket: bool = False
) -> str:
    """`t` and the metric's fields by time; only buckets with a value, null for what is not finite. `beside` are further
    columns, by name. The first column is `venue` if the series is of each. With `every_bucket`, the rows as they are,
    in any order: a third of the query's time goes into sorting and filtering them. Running sums need the order.

    With literals, because DuckDB plans a statement with parameters twice.
    """
    metric = edition.catalog.by_name[query.metric]
    table = query.table(metric.family(query.selector))
    of_base = edition.of_bases([query.base], table) if query.base else ""
    pick = {"market_id": query.market, "type": query.type if metric.types and not query.market else None}
    taken = f"venue in ({', '.join(map(literal, metric.venues))})" if metric.venues and query.combined else ""
    outer = [*_equal(pick), metric.where.get(query.selector, "")]
    inner = [of_base, *_equal({"venue": query.venue}), taken, f"t >= {query.start:d}", f"t < {query.end:d}"]
    if metric.rows:
        source = f"({metric.rows}) as found"
        before = f"with scope as (select * from {table} where {_all(inner)}) "
    else:
        source, before, outer = table, "", [*inner, *outer]
    stated = _stated(metric, query.kind)
    columns = ", ".join(
        [f'({sql})::double as "{name}"' for name, sql in stated.items()]
        + [f"{sql} as {name}" for name, sql in beside.items()]
    )
    where = f" where {_all(outer)}" if any(outer) else ""
    at = f"{query.by}, t" if query.by else "t"
    group = f" group by {at}" if metric.grouped else ""
    rows = f"select {at}, {columns} from {source}{where}{group}"
    if every_bucket:
        return f"{before}{rows}"
    final = ", ".join([*(f'{_final(name, metric, query.by)} as "{name}"' for name in metric.fields), *beside])
    known = " or ".join(f'"{name}" is not null' for name in stated)
    return f"{before}select {at}, {final} from ({rows}) where {known} order by {at}"


def selected_rows(query: SeriesQuery, edition: Edition, table: str) -> str:
    """The condition for the rows of a table of markets that are in the series, at any time."""
    if query.market:
        return _all([edition.of_bases([str(query.base)], table), *_equal({"market_id": query.market})])
    of_base = edition.of_bases([query.base], table) if query.base else ""
    kind = None if query.type == "all" else query.type
    return _all([of_base, "aggregated", *_equal({"venue": query.venue, "type": kind})])


def counted_rows(query: SeriesQuery, edition: Edition, metric: Metric, table: str, within: str) -> str:
    """The rows of markets that count in a series of a metric whose coverage `reads` a table: a relation for `from`."""
    of_base = edition.of_bases([query.base], table) if query.base else ""
    taken = f"venue in ({', '.join(map(literal, metric.venues))})" if metric.venues and not query.venue else ""
    chosen = _equal({"market_id": query.market}) if query.market else ["aggregated"]
    counted = metric.coverage["counted"].replace("{kind}", metric.kinds[query.kind].sql if query.kind else "")
    scope = f"select * from {table} where {_all([of_base, *_equal({'venue': query.venue}), taken, within])}"
    rows = metric.rows or "select * from scope"
    return f"(with scope as ({scope}) select * from ({rows}) where {_all([*chosen, counted])})"


def market_table(metric: Metric, step: str) -> str:
    """The table with the rows of single markets from which the metric's values are made."""
    return f"{metric.reads.get('market') or metric.reads.get('base') or READS['market']}_{step}"


def markets_sql(query: SeriesQuery, edition: Edition, step: str, since: int, until: int) -> str:
    """`market_id`, `t` and the metric's fields of each single market in the series, in the buckets of a step that
    begin in this time; without running sums."""
    metric = edition.catalog.by_name[query.metric]
    table = market_table(metric, step)
    of_base = edition.of_bases([query.base], table) if query.base else ""
    taken = f"venue in ({', '.join(map(literal, metric.venues))})" if metric.venues and not query.venue else ""
    inner = [of_base, *_equal({"venue": query.venue}), taken, f"t >= {since:d}", f"t < {until:d}"]
    kind = query.type if metric.types and query.type != "all" and not query.market else None
    pick = _equal({"market_id": query.market, "type": kind})
    outer = [*pick, "" if query.market else "aggregated", metric.where.get(query.selector, "")]
    stated = ", ".join(f'({sql})::double as "{name}"' for name, sql in _stated(metric, query.kind).items())
    rows = f"({metric.rows}) as found" if metric.rows else "scope"
    where = f" where {_all(outer)}" if any(outer) else ""
    group = " group by market_id, t" if metric.grouped else ""
    before = f"with scope as (select * from {table} where {_all(inner)}) "
    return f"{before}select market_id, t, {stated} from {rows}{where}{group}"


def venues_sql(metric: Metric, kind: str | None, step: str) -> str:
    """The venues that ever had a value of the metric (of this kind), as one list."""
    selector = "market" if "market" in metric.selectors else "venue"
    table = metric.table(selector, step)
    source, before = table, ""
    if metric.rows:
        source, before = f"({metric.rows}) as found", f"with scope as (select * from {table}) "
    stated = _stated(metric, kind)
    columns = ", ".join(f'({sql}) as "{name}"' for name, sql in stated.items())
    group = " group by venue, base, t" if metric.grouped else ""
    known = " or ".join(f'"{name}" is not null' for name in stated)
    listed = "select list(distinct venue order by venue)"
    return f"{before}{listed} from (select venue, {columns} from {source}{group}) where {known}"


def _stated(metric: Metric, kind: str | None) -> dict[str, str]:
    """The SQL of the fields that are not running sums of others."""
    asked = metric.kinds[kind].sql if kind else ""
    return {name: field.sql.replace("{kind}", asked) for name, field in metric.fields.items() if not field.running}


def _equal(wanted: dict[str, str | None]) -> list[str]:
    return [f"{column} = {literal(value)}" for column, value in wanted.items() if value is not None]


def _all(terms: list[str]) -> str:
    return " and ".join(f"({term})" if " or " in term else term for term in terms if term)


def _final(name: str, metric: Metric, by: str | None) -> str:
    field = metric.fields[name]
    if field.running:
        # Null where the summed field is: the flow of an unrecorded bucket is unknown, not zero.
        of_each = f"partition by {by} " if by else ""
        return f'case when "{field.running}" is not null then sum("{field.running}") over ({of_each}order by t) end'
    return f'case when isfinite("{name}") then "{name}" end'
