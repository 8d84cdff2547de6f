"""GET /api/sparklines: the course of many coins in few points, for tables that draw a small chart in each row."""

from dataclasses import replace
from typing import Any, NamedTuple

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, coins, one_of
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.time_range import aligned
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

# Range → days and step: 24, 42 and 30 points.
RANGES = {"24h": (1, "1h"), "7d": (7, "4h"), "30d": (30, "1d")}
METRICS = ("price", "oi", "funding", "volume")
MOST, USUAL = 60, 50
"""Coins of a request at most, and without a choice."""
SCHEMA = object_of(
    {
        **dict.fromkeys(("metric", "unit", "range"), TEXT),
        **dict.fromkeys(("step", "start", "end"), INTEGER),
        "t": array_of(INTEGER, "Every bucket of the range, UTC epoch ms; the last one may not be over."),
        "bases": array_of(TEXT, "The coins: as requested, or the greatest perp volume of 24 hours first."),
        "series": {
            "type": "object",
            "description": "Coin → its perps' values, one for each of `t`; null where nothing is known.",
            "additionalProperties": array_of(NUMBER_OR_NULL),
        },
        "source": TEXT,
    }
)
TOP = """
select list(base) from (
    select base from markets where not hip3 and perp_vol24h is not null order by perp_vol24h desc, base limit {usual}
)
"""
SQL = """
select base, map_from_entries(list((t, ({value})::double))) as found from series_base_{step}
where {of_bases} and type = 'perp' and t >= {start} and t < {end} and isfinite({value})
group by base
"""


class Sparklines(NamedTuple):
    """A canonical query: these coins, or those traded most if there are none."""

    metric: str
    range: str
    bases: tuple[str, ...]


def resolve(values: Values, edition: Edition, _: bool) -> Sparklines:
    """The canonical query; raises 400 for a coin that is not tracked."""
    asked = {name: edition.base(name) for name in values["c"] or ()}
    for name, base in asked.items():
        if base is None:
            raise BadParameter("c", name, "it is not a tracked coin", edition.bases)
    bases = tuple(dict.fromkeys(base for base in asked.values() if base))
    return Sparklines(values["m"], values["range"], bases)


@endpoint(
    "/api/sparklines",
    ttl=60,
    budget="series",
    statuses=(200, 400, 503),
    schema=SCHEMA,
    resolve=resolve,
    params={
        "m": one_of("The metric, of the perps.", *METRICS, default="price"),
        "range": one_of("Length: 24 hours, 42 times 4 hours, or 30 days.", *RANGES, default="7d"),
        "c": replace(coins(f"Coins; without them the {USUAL} traded most.", 1, MOST, 512), required=False),
    },
)
def sparklines(query: Sparklines, db: Reader) -> Body:
    """Price, open interest, funding or volume of up to 60 coins in a few points each, counted as one request."""
    metric = db.edition.catalog.by_name[query.metric]
    bases = query.bases or tuple(db.value(TOP.format(usual=USUAL)) or ())
    days, step = RANGES[query.range]
    width = {tier.step: tier.step_ms for tier in db.edition.tiers}[step]
    now = db.edition.as_of_ms
    span = aligned(Span(now - days * UNIT_MS["d"] + 1, now), width)
    t = range(span.start, span.end, width)
    found: dict[str, dict[int, Any]] = {}
    if bases:
        table = f"series_base_{step}"
        of_bases = db.edition.of_bases(bases, table)
        value = metric.fields["v"].sql
        rows = db.rows(SQL.format(value=value, step=step, of_bases=of_bases, start=span.start, end=span.end))
        found = {row["base"]: row["found"] for row in rows}
    return json_body(
        {
            "metric": metric.name,
            "unit": metric.unit,
            "range": query.range,
            "step": width,
            "start": span.start,
            "end": span.end,
            "t": list(t),
            "bases": bases,
            "series": {base: [found.get(base, {}).get(at) for at in t] for base in bases},
            "source": f"series_{step}@e{db.edition.edition_id}",
        }
    )
