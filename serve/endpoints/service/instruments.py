"""GET /api/instruments: every market ever seen, what it is and was, and why aggregates include it or not."""

import csv
import io
from typing import Any

import orjson

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Param, Values, coin, one_of
from serve.contract.schemas import (
    BOOLEAN,
    BOOLEAN_OR_NULL,
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    array_of,
    object_of,
)
from serve.contract.serialize import ARROW, CSV, PARQUET, Body, arrow_body, json_body, parquet_body
from serve.replica.catalog import VENUES
from serve.replica.edition import Reader

# These exchanges serve the premiums and the series of their own markets.
PREMIUM_VENUES = ("upbit", "bithumb", "coinbase")
IDENTITY = object_of(
    {"from_ms": INTEGER, "to_ms": INTEGER_OR_NULL, "base": TEXT, "reason": TEXT, "price_ratio": NUMBER_OR_NULL}
)
CONTRACT = object_of(
    {
        "since_ms": INTEGER, "contract_size": NUMBER, "multiplier": NUMBER, "inverse": BOOLEAN_OR_NULL,
        "quote": TEXT_OR_NULL, "settle": TEXT_OR_NULL,
    }
)  # fmt: skip
LEFT_OUT = ("premiums", "structured", "hip3", "unlisted", "quote", "options")
INSTRUMENT = object_of(
    {
        **dict.fromkeys(("market_id", "venue", "type", "symbol", "base", "base_raw", "named_base"), TEXT),
        **dict.fromkeys(("quote", "settle", "status", "contract_type", "url"), TEXT_OR_NULL),
        **dict.fromkeys(("listed_ms", "delisted_ms"), INTEGER_OR_NULL),
        "first_ms": {**INTEGER_OR_NULL, "description": "First recorded minute, or start of the first day of history."},
        "last_ms": {**INTEGER_OR_NULL, "description": "Newest recorded minute, or start of the last day of history."},
        "aggregated": {**BOOLEAN, "description": "Aggregates include it."},
        "left_out": {"enum": [*LEFT_OUT, None], "description": "Why aggregates leave it out; null: they include it."},
        **dict.fromkeys(("hip3", "inverse", "metadata"), BOOLEAN_OR_NULL),
        "category": array_of(TEXT),
        **dict.fromkeys(("contract_size", "multiplier"), NUMBER),
        "identity": array_of(IDENTITY, "Its coins over time, the oldest first; to_ms null: until now."),
        "contracts": array_of(CONTRACT, "Its contract's terms over time, the oldest first."),
        "funding_intervals": array_of(
            object_of({"since_ms": INTEGER, "interval_h": NUMBER}), "Its funding intervals over time, hours."
        ),
    }
)
SCHEMA: Schema = object_of(
    {
        "instruments": array_of(INSTRUMENT),
        "total": {**INTEGER, "description": "Markets that the filters select, on all pages."},
        "next": {**TEXT_OR_NULL, "description": "The value of `after` for the next page; null: this is the last one."},
        "server_ts": {**INTEGER, "description": "The edition's as_of, UTC epoch ms."},
    }
)
SQL = """
select register.* exclude (tick_ms), first_ms, last_ms
from market_register as register
left join (select market_id, first_ms, last_ms from market_index) as recorded using (market_id)
where ($venue = 'all' or venue = $venue) and ($type = 'all' or type = $type)
    and ($base is null or upper($base) in (upper(base), upper(named_base)))
    and ($market is null or market_id = $market)
    and ($aggregated = 'all' or aggregated = ($aggregated = 'true'))
    and ($left_out = 'all' or left_out = $left_out)
    and ($changed = 'all' or len(if($changed = 'identity', identity, [])) > 1
        or len(if($changed = 'contract', contracts, [])) > 1
        or len(if($changed = 'funding_interval', funding_intervals, [])) > 1)
"""
NESTED = ("category", "identity", "contracts", "funding_intervals")
LIMITS = ("10", "100", "500", "1000", "5000", "50000")


def market_id(description: str) -> Param:
    """A market of any recorded exchange as venue:perp|spot:SYMBOL."""
    venues = (*VENUES, *PREMIUM_VENUES)

    def read(name: str, text: str) -> str:
        venue, _, rest = text.partition(":")
        kind, _, symbol = rest.partition(":")
        if venue not in venues or kind not in ("perp", "spot") or not symbol or len(text) > 128:
            raise BadParameter(name, text, f"use venue:perp|spot:SYMBOL with a venue of {', '.join(venues)}")
        return text

    return Param(description, read, {"type": "string", "examples": ["binance:perp:BTCUSDT"]})


@endpoint(
    "/api/instruments",
    ttl=60,
    statuses=(200, 400, 503),
    media=("application/json", "text/csv", PARQUET, ARROW),
    schema=SCHEMA,
    params={
        "venue": one_of("Exchange.", "all", *VENUES, *PREMIUM_VENUES, default="all"),
        "type": one_of("Kind of market.", "all", "perp", "spot", default="all"),
        "base": coin("Coin, in any case: markets of the coin, and markets whose name says that they are of it."),
        "market": market_id("One market."),
        "aggregated": one_of("Whether aggregates include it.", "all", "true", "false", default="all"),
        "left_out": one_of("Why aggregates leave it out.", "all", *LEFT_OUT, default="all"),
        "changed": one_of(
            "Only markets that had more than one of these.", "all", "identity", "contract", "funding_interval",
            default="all",
        ),
        "after": market_id("Only markets after this one, by market_id: the `next` of the page before."),
        "limit": one_of("Markets on a page.", *LIMITS, default="500"),
        "format": one_of("Form of the response.", "json", "csv", "parquet", "arrow", default="json"),
    },
)  # fmt: skip
def instruments(query: Values, db: Reader) -> Body:
    """Every market ever seen: identity, contract and funding interval over time, listing, and its place in sums."""
    limit, after = int(query["limit"]), query["after"]
    given = {name: query[name] for name in ("venue", "type", "base", "market", "aggregated", "left_out", "changed")}
    total = db.value(f"select count(*) from ({SQL})", given)
    page = f"select * from ({SQL}) where $after is null or market_id > $after order by market_id limit {limit + 1}"
    if query["format"] in ("parquet", "arrow"):
        return _table(db, page, {**given, "after": after}, limit, total, query["format"])
    rows = db.rows(page, {**given, "after": after})
    following = rows[limit - 1]["market_id"] if len(rows) > limit else None
    if query["format"] == "csv":
        return _csv(rows[:limit], following)
    content = {"instruments": rows[:limit], "total": total, "next": following, "server_ts": db.edition.as_of_ms}
    return json_body(content)


def _csv(rows: list[dict[str, Any]], following: str | None) -> Body:
    """A line of comment with the next page, then a table whose lists are JSON."""
    out = io.StringIO()
    out.write(f"# next: {following or ''}\n")
    names = list(INSTRUMENT["properties"])
    writer = csv.DictWriter(out, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow(row | {name: orjson.dumps(row[name]).decode() for name in NESTED})
    return Body(out.getvalue().encode(), CSV)


def _table(db: Reader, sql: str, given: dict[str, Any], limit: int, total: int, form: str) -> Body:
    """Parquet or Arrow; total and next page are in the schema's metadata."""
    found = db.table(sql, given)
    following = found["market_id"][limit - 1].as_py() if found.num_rows > limit else None
    metadata = {"total": total, "next": following, "source": f"market_register@e{db.edition.edition_id}"}
    return (parquet_body if form == "parquet" else arrow_body)(found.slice(0, limit), metadata)
