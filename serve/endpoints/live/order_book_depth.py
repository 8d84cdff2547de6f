"""GET /api/order-book-depth and /api/order-book-depth/{market}: resting orders around the mid of the perps with the
highest open interest."""

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError
from serve.contract.known import known_market
from serve.contract.parameters import Values, market
from serve.contract.schemas import (
    BOOLEAN_OR_NULL,
    INTEGER,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    array_of,
    object_of,
)
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Edition, Reader
from serve.replica.unavailable import Unavailable

# Books are requested every other minute; an older one is not current.
MAX_AGE_MS = 600_000
TRUNCATED = {"type": "boolean", "description": "The levels end inside the band: a lower bound."}
DEPTH: Schema = {
    "type": "object",
    "required": ["band_pct", "bid_usd", "ask_usd", "total_usd", "bid_truncated", "ask_truncated"],
    "properties": {
        "band_pct": {"type": "number"},
        **dict.fromkeys(("bid_usd", "ask_usd", "total_usd"), NUMBER_OR_NULL),
        **dict.fromkeys(("bid_truncated", "ask_truncated"), TRUNCATED),
    },
}
MARKET: Schema = {
    "type": "object",
    "required": [
        "symbol", "base", "mid", "depth", "imbalance", "imbalance_range_pct", "cost_buy_bps", "cost_buy_truncated",
        "cost_sell_bps", "cost_sell_truncated",
    ],
    "properties": {
        "symbol": {"type": "string"},
        "base": {"type": ["string", "null"]},
        "mid": NUMBER_OR_NULL,
        "depth": {"type": "array", "items": DEPTH},
        "imbalance": {**NUMBER_OR_NULL, "description": "(bid - ask) / (bid + ask) within imbalance_band_pct."},
        "imbalance_range_pct": {**NUMBER_OR_NULL, "description": "Largest distance from mid that both sides cover."},
        **dict.fromkeys(("cost_buy_bps", "cost_sell_bps"), NUMBER_OR_NULL),
        **dict.fromkeys(("cost_buy_truncated", "cost_sell_truncated"), BOOLEAN_OR_NULL),
    },
}  # fmt: skip
SCHEMA: Schema = {
    "type": "object",
    "required": ["bands_pct", "venues"],
    "properties": {
        "bands_pct": {"type": "array", "items": {"type": "number"}},
        "venues": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["venue", "n_universe", "markets", "missing"],
                "properties": {
                    "venue": {"type": "string"},
                    "n_universe": {"type": "integer"},
                    "markets": {"type": "array", "items": MARKET},
                    "missing": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
        "as_of": {"type": "integer", "description": "Minute of the newest book, UTC epoch ms."},
        "state": {"enum": ["ok", "partial"], "description": "partial: a book is missing."},
        "imbalance_band_pct": {"type": "number"},
        "market_order_usd": {"type": "number", "description": "Size of the order whose cost is estimated, USD."},
        "levels_per_side": {"type": "integer", "description": "Levels of the longest recorded side."},
        "n_books": {"type": "integer"},
        "n_failed": {"type": "integer", "description": "Books whose newest request failed."},
        "source": {"type": "string"},
    },
}
LEVELS_SCHEMA = object_of(
    {
        "market": TEXT,
        "base": TEXT_OR_NULL,
        "as_of": {**INTEGER, "description": "Minute of the book, UTC epoch ms."},
        "mid": NUMBER_OR_NULL,
        "bid_reach_pct": {**NUMBER, "description": "How far from the mid the recorded bids reach, percent."},
        "ask_reach_pct": {**NUMBER, "description": "How far from the mid the recorded asks reach, percent."},
        "levels": array_of(
            object_of({"away_pct": NUMBER, "bid_usd": NUMBER_OR_NULL, "ask_usd": NUMBER_OR_NULL}),
            "USD between the mid and each distance from it; null where the recorded levels end before.",
        ),
        "source": TEXT,
    }
)
LEVELS_SQL = """
select market_id as market, base, book_ms as as_of, mid, bid_reach_pct, ask_reach_pct, levels
from order_book_levels where market_id = $market and book_ms >= $since
"""
# As in the model int_book_depth, from which the mart's books come.
IMBALANCE_BAND_PCT, MARKET_ORDER_USD = 1.0, 100_000
VENUES_SQL = """
select
    venue, count(*) as n_universe,
    coalesce(list({
        symbol: symbol, base: base, mid: mid, depth: depth, imbalance: imbalance,
        imbalance_range_pct: imbalance_range_pct, cost_buy_bps: cost_buy_bps, cost_buy_truncated: cost_buy_truncated,
        cost_sell_bps: cost_sell_bps, cost_sell_truncated: cost_sell_truncated
    } order by oi_usd desc nulls last, market_id) filter (is_current), []) as markets,
    coalesce(list(symbol order by symbol) filter (not is_current), []) as missing
from (select *, coalesce(book_ms >= $since, false) as is_current from order_book_depth)
group by venue order by venue
"""
TOTALS_SQL = """
select max(book_ms) as as_of, count(*)::integer as n_books, max(levels) as levels_per_side,
    any_value(list_transform(depth, lambda band: band.band_pct)) as bands_pct,
    (select count(*)::integer from order_book_depth where failed) as n_failed
from order_book_depth where book_ms >= $since
"""


@endpoint("/api/order-book-depth", ttl=30, statuses=(200, 400, 503), schema=SCHEMA)
def order_book_depth(query: Values, db: Reader) -> Body:
    """Order-book depth of the USDT perps with the highest open interest: bands, imbalance, cost of an order."""
    since = {"since": db.edition.as_of_ms - MAX_AGE_MS}
    [totals] = db.rows(TOTALS_SQL, since)
    if not totals["n_books"]:
        requested = db.value("select count(*) from order_book_depth")
        raise Unavailable("no order book of the last 10 minutes was recorded", missing=not requested)
    venues = db.rows(VENUES_SQL, since)
    return json_body(
        {
            "bands_pct": totals.pop("bands_pct"),
            "venues": venues,
            "state": "partial" if any(venue["missing"] for venue in venues) else "ok",
            "imbalance_band_pct": IMBALANCE_BAND_PCT,
            "market_order_usd": MARKET_ORDER_USD,
            "source": f"order_book_depth@e{db.edition.edition_id}",
            **totals,
        }
    )


def resolve_market(values: Values, edition: Edition, keyed: bool) -> str:
    """The market's id; raises 404 for one that there is not."""
    known_market(edition, values["market"])
    return str(values["market"])


@endpoint(
    "/api/order-book-depth/{market}",
    ttl=30,
    statuses=(200, 400, 404, 503),
    schema=LEVELS_SCHEMA,
    table="levels",
    resolve=resolve_market,
    params={"market": market("The perp.")},
)
def order_book_levels(query: str, db: Reader) -> Body:
    """The newest order book of a perp as a curve: how much rests within each distance from the mid."""
    found = db.rows(LEVELS_SQL, {"market": query, "since": db.edition.as_of_ms - MAX_AGE_MS})
    if not found:
        raise ApiError(404, "no order book of this market was recorded in the last 10 minutes")
    return json_body({**found[0], "source": f"order_book_levels@e{db.edition.edition_id}"})
