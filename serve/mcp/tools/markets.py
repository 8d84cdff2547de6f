"""market_snapshot: one coin's markets at the newest minute, from /api/markets, the largest first."""

from typing import Any, NamedTuple
from urllib.parse import quote

from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, coin, one_of
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.mcp.arguments import find_coin, string, whole_number
from serve.mcp.tool import DIGITS, PRICE_DIGITS, Tool, ToolResult, fresh_until, rounded
from serve.queries.accuracy import warn_of_inaccuracy
from serve.queries.snapshot import read_coin
from serve.replica.catalog import VENUES, Catalog
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

MAX_ROWS = 50
NUMBERS = ("price", "oi_usd", "vol24h", "funding", "px_24h", "oi_24h")
COIN_NUMBERS = ("perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg", "oi_24h")
METRICS = {"price": "price", "oi_usd": "oi", "vol24h": "volume", "funding": "funding"}
DATA: Schema = object_of(
    {
        "base": TEXT,
        "summary": {
            **object_of({**dict.fromkeys(COIN_NUMBERS, NUMBER_OR_NULL), "perps": INTEGER, "spots": INTEGER}),
            "description": "The coin over all its markets, and how many it has.",
        },
        "markets": array_of(
            object_of(
                {
                    "market": TEXT,
                    "venue": TEXT,
                    "symbol": TEXT,
                    "quote": TEXT_OR_NULL,
                    **dict.fromkeys(NUMBERS, NUMBER_OR_NULL),
                }
            ),
            "By open interest, highest first; spot markets after the perps, by volume.",
        ),
    }
)


class SnapshotQuery(NamedTuple):
    """A canonical coin, which types of its markets, and at most how many."""

    base: str
    type: str
    limit: int


def resolve(values: Values, edition: Edition, keyed: bool) -> SnapshotQuery:
    """The canonical query."""
    return SnapshotQuery(find_coin("base", values["base"], edition), values["type"], values["limit"])


def answer(query: SnapshotQuery, db: Reader) -> ToolResult:
    """The coin's row and its markets."""
    row = read_coin(db, query.base)
    if row is None:
        raise BadParameter("base", query.base, "unknown coin: it was recorded once and is no longer listed")
    kinds = ("perp", "spot") if query.type == "all" else (query.type,)
    entries = [(kind, entry) for kind in kinds for entry in row[f"{kind}s"]]
    as_of, minute = db.edition.as_of_ms, UNIT_MS["m"]
    span = Span(as_of - minute, as_of)
    units = {name: _unit(metric, db.edition.catalog) for name, metric in METRICS.items()}
    units["vol24h"] += " in the trailing 24 hours"
    units |= {"px_24h": "fraction, change over 24 hours", "oi_24h": "fraction, change over 24 hours"}
    units |= {"perp_vol24h": units["vol24h"], "spot_vol24h": units["vol24h"], "funding_avg": units["funding"]}
    short = int(row["markets"] < row["expected"])
    return ToolResult(
        data={
            "base": row["base"],
            "summary": {
                **{name: rounded(row[name]) for name in COIN_NUMBERS},
                **{f"{kind}s": len(row[f"{kind}s"]) for kind in ("perp", "spot")},
            },
            "markets": [_market(kind, entry) for kind, entry in entries[: query.limit]],
        },
        units=units,
        span=span,
        known=span,
        fresh_until_ms=fresh_until(as_of - minute, minute, span, db.edition),
        markets={"n": row["markets"], "expected": row["expected"], "buckets": 1, "incomplete": short},
        source=f"markets@e{db.edition.edition_id}",
        method="Newest observation of each market, at most 5 minutes old; funding_avg is weighted by open interest.",
        rest="/api/markets",
        page=f"/coins/{quote(row['base'], safe='')}",
        warnings=warn_of_inaccuracy(db, ("price", "oi", "funding"), row["base"]),
    )


def _market(kind: str, entry: dict[str, Any]) -> dict[str, Any]:
    named = {"market": f"{entry['venue']}:{kind}:{entry['symbol']}"}
    named |= {name: entry[name] for name in ("venue", "symbol", "quote")}
    return {**named, **{name: rounded(entry[name], PRICE_DIGITS if name == "price" else DIGITS) for name in NUMBERS}}


def _unit(metric: str, catalog: Catalog) -> str:
    known = catalog.by_name.get(metric)
    return known.unit if known else ""


def _notes(catalog: Catalog) -> str:
    units = [f"{name} {unit}" for name, metric in METRICS.items() if (unit := _unit(metric, catalog))]
    return f"Units: {', '.join(units)}." if units else ""


MARKET_SNAPSHOT = Tool(
    "market_snapshot",
    "Market snapshot of one coin",
    "Price, open interest, 24h volume and funding (fraction per 8 hours) of each market of one coin right now, the"
    f" highest open interest first, over {len(VENUES)} exchanges. The way to find market ids. For the past of a figure"
    " use funding_history or oi_history.",
    {
        "base": string(coin("Coin symbol, in any case."), required=True),
        "limit": whole_number("At most so many markets.", 1, MAX_ROWS, 20),
        "type": string(one_of("Which markets.", "perp", "spot", "all", default="perp")),
    },
    DATA,
    resolve,
    answer,
    _notes,
)
