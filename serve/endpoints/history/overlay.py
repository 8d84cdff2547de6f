"""GET /api/coins/overlay: prices or open interest of several coins, indexed to 100 at their first common bucket."""

from typing import Any, NamedTuple

import numpy as np

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, coins, one_of
from serve.contract.schemas import TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.time_range import aligned
from serve.replica.edition import Edition, Reader, literal
from serve.replica.gaps import before_recording, gaps_within
from serve.replica.unavailable import Fallback, Unavailable
from serve.replica.units import UNIT_MS, Span

# Range → days, bucket, and for how many seconds a response may be cached.
RANGES = {"7d": (7, "1h", 60), "30d": (30, "1h", 60), "90d": (90, "4h", 300)}
FAILURE_TTL_S = 30
STATES = ("ok", "insufficient", "unavailable")
FIELDS: Schema = {
    "bases": array_of(TEXT, "In alphabetical order."),
    "t": array_of({"type": "integer"}, "Bucket starts from the first common one, UTC epoch ms."),
    "state": {"enum": list(STATES), "description": "insufficient: the coins have no common bucket."},
    "schema_version": {"const": 1},
    "metric": {"enum": ["price", "oi"]},
    "unit": {"const": "index"},
    "fields": array_of(TEXT, "Names of the value arrays, a coin each."),
    "field_map": {"type": "object", "description": "Coin to the name of its array.", "additionalProperties": TEXT},
    "sources": {
        "type": "object",
        "description": "The source of each coin's array.",
        "additionalProperties": object_of({"state": {"enum": list(STATES)}, "source": {"type": ["string", "null"]},
            "db": {"type": "boolean"}, "error": TEXT}, optional=("db", "error")),
    },
    "m": {"enum": ["price", "oi"]},
    "range": {"enum": list(RANGES)},
    "start": {"type": ["integer", "null"]},
    "end": {"type": ["integer", "null"]},
    "step": {"type": "integer", "description": "Bucket width, ms."},
    "gaps": {"type": ["object", "null"], "description": "Coin to its unrecorded periods; null: not known."},
}  # fmt: skip
SCHEMA: Schema = {
    **object_of(FIELDS),
    "description": "An array a coin: 100 in the first common bucket, 110 is 10 % more; null where nothing is known.",
    "additionalProperties": {"type": "array", "items": {"type": ["integer", "null"]}},
}


SQL = """
with found as (
    select t, base, {value} as v from series_base_{step}
    where {of_bases} and type = 'perp' and t >= {start} and t < {end} and {value} > 0 and isfinite({value})
),
common as (select t from found group by t having count(*) = {count} order by t limit 1),
anchors as (select base, v as anchor from found semi join common using (t)),
buckets as (
    select t, {columns} from found join anchors using (base) where t >= (select t from common) group by t
)
select (select coalesce(list(distinct base), []) from found) as known,
    (select map_from_entries(list((base, early))) from (
        select base, list(t order by t) as early from found where t < {since} group by base
    )) as early,
    coalesce(list(t order by t), []) as t, {lists}
from buckets
"""


class Overlay(NamedTuple):
    """A canonical query."""

    bases: tuple[str, ...]
    metric: str
    range: str

    @property
    def fields(self) -> dict[str, str]:
        """The name of each coin's array: the coin's own, unless another field has it."""
        return {base: f"{base}_" if base in FIELDS else base for base in self.bases}


def resolve_overlay(values: Values, edition: Edition, keyed: bool) -> Overlay:
    """The canonical query; raises 400 for a coin that is not tracked."""
    bases = {asked: edition.base(asked) for asked in values["c"]}
    for asked, base in bases.items():
        if base is None:
            raise BadParameter("c", asked, "it is not a tracked coin", edition.bases)
    return Overlay(tuple(sorted(base for base in bases.values() if base)), values["m"], values["range"])


def without_replica(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """Empty arrays, marked as unavailable."""
    query = Overlay(tuple(sorted(base.upper() for base in values["c"])), values["m"], values["range"])
    state: dict[str, Any] = {"db": False} if outage.missing else {"db": False, "error": "unavailable"}
    sources = {base: {"state": "unavailable", "source": None, **state} for base in query.bases}
    arrays: dict[str, list[int]] = {name: [] for name in ("t", *query.fields.values())}
    return json_body({**_described(query, "unavailable", sources, None), **arrays}, degraded=True, ttl=FAILURE_TTL_S)


@endpoint(
    "/api/coins/overlay",
    ttl=60,
    budget="series",
    statuses=(200, 400),
    schema=SCHEMA,
    resolve=resolve_overlay,
    offline=without_replica,
    params={
        "c": coins("Coins, in any case and order.", least=2, most=5),
        "m": one_of("Aggregated price or summed open interest of the perps.", "price", "oi", default="price"),
        "range": one_of("Length of the range, in buckets of an hour; of 4 hours for 90d.", *RANGES, default="30d"),
    },
)
def coins_overlay(query: Overlay, db: Reader) -> Body:
    """Prices or open interest of two to five coins on one scale: 100 in the first bucket that all of them have."""
    _check_counted(query, db)
    days, step, ttl = RANGES[query.range]
    now = db.edition.as_of_ms
    width = UNIT_MS["h"] * int(step[:-1])
    span = aligned(Span(now - days * UNIT_MS["d"], now), width)
    numbered = [(literal(base), f"c{number}") for number, base in enumerate(query.bases)]
    sql = SQL.format(
        value=db.edition.catalog.by_name[query.metric].fields["v"].sql,
        step=step,
        of_bases=db.edition.of_bases(query.bases, f"series_base_{step}"),
        start=span.start,
        end=span.end,
        # Buckets of the venues' history from before the recording began: the rest of that time is a gap.
        since=db.edition.recorded_since_ms or span.end,
        count=len(numbered),
        # Rounded only here: the anchor stays exact.
        columns=", ".join(
            f"round(any_value(100 * v / anchor) filter (base = {t}))::bigint as {c}" for t, c in numbered
        ),
        lists=", ".join(f"coalesce(list({column} order by t), []) as {column}" for _, column in numbered),
    )
    found = db.rows(sql)[0]
    source = f"series_{step}@e{db.edition.edition_id}"
    sources = {
        base: {"state": "ok" if base in found["known"] else "insufficient", "source": source} for base in query.bases
    }
    state = "ok" if found["t"] else "insufficient"
    arrays = {field: found[column] for field, (_, column) in zip(query.fields.values(), numbered, strict=True)}
    described = _described(query, state, sources, span, _gaps(query, db, span, width, found["early"] or {}))
    return json_body({**described, "t": found["t"], **arrays}, ttl=ttl)


def _check_counted(query: Overlay, db: Reader) -> None:
    """Raises 400 for a coin of builder-deployed markets alone: aggregates leave those out."""
    bases = ", ".join(map(literal, query.bases))
    counted = db.value(f"select list(distinct base) from market_index where base in ({bases}) and not hip3") or []
    for base in query.bases:
        if base not in counted:
            raise BadParameter("c", base, "only builder-deployed markets trade it, which are left out here")


def _described(
    query: Overlay, state: str, sources: dict[str, Any], span: Span | None, gaps: dict[str, Any] | None = None
) -> dict[str, Any]:
    fields = query.fields
    return {
        "bases": query.bases, "state": state, "schema_version": 1, "metric": query.metric, "unit": "index",
        "fields": list(fields.values()), "field_map": fields, "sources": sources, "m": query.metric,
        "range": query.range, "start": span and span.start, "end": span and span.end,
        "step": UNIT_MS["h"] * int(RANGES[query.range][1][:-1]), "gaps": gaps,
    }  # fmt: skip


def _gaps(query: Overlay, db: Reader, span: Span, width: int, early: dict[str, list[int]]) -> dict[str, Any]:
    """For each coin, the recorder's own gaps and those of venues with its perps; `early` are its buckets from before
    the recording began."""
    gaps = gaps_within(db, db.edition.catalog.by_name[query.metric], "perp", None, span)
    venues: dict[str, set[str]] = {base: set() for base in query.bases}
    for market in db.edition.markets.values():
        if market.type == "perp" and market.base in venues:
            venues[market.base].add(market.venue)
    return {
        base: before_recording(db, np.array(early.get(base, []), np.int64), width, span)
        + [gap for gap in gaps if gap["venue"] in {None, *venues[base]}]
        for base in query.bases
    }
