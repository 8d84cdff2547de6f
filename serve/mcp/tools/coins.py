"""coin_overview: one coin at once, from /api/coin/{base}."""

from typing import Any
from urllib.parse import quote

import orjson

from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, coin
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.mcp.arguments import find_coin, string
from serve.mcp.tool import Tool, ToolResult, fresh_until, rounded
from serve.queries.accuracy import warn_of_inaccuracy
from serve.queries.figures.coin import read_coin_detail
from serve.queries.snapshot import RATIO, RATIOS, WINDOWS
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

FIGURES = (
    "price", "px_1h", "px_4h", "px_24h", "oi_usd", "oi_1h", "oi_4h", "oi_24h", "funding_avg", "funding_spread",
    "perp_vol24h", "spot_vol24h", "net_flow24h",
)  # fmt: skip
OF_MARKET = ("price", "oi_usd", "vol24h", "funding")
MOST_MARKETS, MOST_EVENTS = 5, 3
UNITS = {
    "price": "USD per one coin",
    "px_1h, px_4h, px_24h": "fraction, change of the price",
    "oi_usd": "USD",
    "oi_1h, oi_4h, oi_24h": "fraction, change of the open interest",
    "funding, funding_avg, funding_spread": "fraction per 8 hours",
    "vol24h, perp_vol24h, spot_vol24h": "USD in the trailing 24 hours",
    "net_flow24h": "USD, taker buys less sells of perps in 24 hours",
    "liquidations": "USD",
    "long_short": "fraction that is long",
    "sig": "robust standard deviations",
}


def resolve(values: Values, edition: Edition, keyed: bool) -> str:
    """The canonical coin."""
    return find_coin("base", values["base"], edition)


def answer(query: str, db: Reader) -> ToolResult:
    """The coin's figures, its largest perps, liquidations, ratios and spikes."""
    body = read_coin_detail(db, query)
    if body is None:
        raise BadParameter("base", query, "unknown coin: it was recorded once and is no longer listed")
    found = orjson.loads(body.data)
    of_coin, liquidated, ratios = found["market"], found["liquidations"], found["long_short"]
    as_of, minute = db.edition.as_of_ms, UNIT_MS["m"]
    span = Span(as_of - minute, as_of)
    counted = None
    if of_coin["markets"] is not None:
        counted = {"n": of_coin["markets"], "expected": of_coin["expected"], "buckets": 1}
        counted["incomplete"] = int(counted["n"] < counted["expected"])
    figures = of_coin | {"net_flow24h": found["net_flow24h"]}
    return ToolResult(
        data=rounded(
            {
                "base": of_coin["base"],
                "summary": {
                    **{name: figures[name] for name in FIGURES},
                    "perps": len(of_coin["perps"]),
                    "spots": len(of_coin["spots"]),
                    "spikes24h": found["hits24h"],
                },
                "venues": of_coin["venues"],
                "categories": of_coin["cat"],
                "largest_perps": [_market(one) for one in of_coin["perps"][:MOST_MARKETS]],
                "liquidations": {
                    "since": liquidated["since"],
                    **{name: liquidated["totals"][name] for name in WINDOWS},
                    "by_venue": liquidated["by_venue"],
                    "biggest": liquidated["biggest"][:MOST_EVENTS],
                },
                "long_short": {name: ratios[name] for name in RATIOS},
                "spikes": found["alerts"][:MOST_EVENTS],
            }
        ),
        units=UNITS,
        span=span,
        known=span,
        fresh_until_ms=fresh_until(as_of - minute, minute, span, db.edition),
        markets=counted,
        source=f"markets, liquidations, long_short, spikes, series_base_1m@e{db.edition.edition_id}",
        method="Newest observation of each market, at most 5 minutes old; funding_avg is weighted by open interest.",
        rest=f"/api/coin/{quote(of_coin['base'], safe='')}",
        page=f"/coins/{quote(of_coin['base'], safe='')}",
        warnings=warn_of_inaccuracy(db, ("price", "oi", "funding", "liquidations"), of_coin["base"]),
    )


def _market(entry: dict[str, Any]) -> dict[str, Any]:
    return {"market": f"{entry['venue']}:perp:{entry['symbol']}", **{name: entry[name] for name in OF_MARKET}}


# One object for each window; that the figures of all are alike is said once.
OBJECT: Schema = {"type": "object"}
LIQUIDATED: Schema = {"since": INTEGER, **dict.fromkeys(WINDOWS, OBJECT)}
COIN_OVERVIEW = Tool(
    "coin_overview",
    "One coin at a glance",
    "One coin now: price, open interest, funding, volume and their changes over 1, 4 and 24 hours, its largest perps,"
    " liquidations of 1 to 24 hours, long/short ratios, newest volume spikes, net taker flow. The first call when the"
    " question is what happens with a coin; market_snapshot has all its markets.",
    {"base": string(coin("Coin, in any case."), required=True)},
    object_of(
        {
            "base": TEXT,
            "summary": object_of(
                {
                    **dict.fromkeys(FIGURES, NUMBER_OR_NULL),
                    **dict.fromkeys(("perps", "spots", "spikes24h"), INTEGER),
                }
            ),
            "venues": array_of(TEXT),
            "categories": array_of(TEXT),
            "largest_perps": array_of(object_of({"market": TEXT, **dict.fromkeys(OF_MARKET, NUMBER_OR_NULL)})),
            "liquidations": {
                **object_of({**LIQUIDATED, "by_venue": OBJECT, "biggest": array_of(OBJECT)}),
                "description": "By window: long, short (the side that was liquidated), count; null is not recorded.",
            },
            "long_short": {
                "type": "object",
                "additionalProperties": RATIO,
                "description": "Venue and group of accounts → long, chg_1h, chg_4h, chg_24h; null where not published.",
            },
            "spikes": array_of(OBJECT),
        }
    ),
    resolve,
    answer,
)
