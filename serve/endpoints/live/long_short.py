"""GET /api/long-short: the newest long fractions of every coin and how they changed."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import TEXT, array_of, object_of
from serve.contract.serialize import Body
from serve.queries.snapshot import RATIOS, STAMPS, snapshot_body
from serve.replica.edition import Reader

SQL = """
select to_json({coins: coalesce(list(l order by perp_vol24h desc nulls last, l.base), [])})::varchar
from long_short as l join markets using (base)
"""


@endpoint(
    "/api/long-short",
    ttl=15,
    statuses=(200, 400, 503),
    schema=object_of({"coins": array_of(object_of({"base": TEXT, **RATIOS})), **STAMPS}),
    table="coins",
)
def long_short(query: Values, db: Reader) -> Body:
    """Newest long/short ratios of every coin, by 24h perp volume; changes are differences of the long fraction."""
    return snapshot_body(db, SQL)
