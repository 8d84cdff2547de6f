"""market_indices: altcoin season, and fear and greed in derivatives."""

from typing import Any, NamedTuple

from serve.contract.schemas import BOOLEAN, INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.mcp.arguments import iso, whole_number
from serve.mcp.tool import Tool, ToolResult, fresh_until, rounded
from serve.queries.figures.indices import HISTORY_DAYS, METHODOLOGY, read_altcoin_season, read_fear_greed
from serve.replica.edition import Reader
from serve.replica.units import UNIT_MS, Span

DAY = UNIT_MS["d"]
MOST_COINS = 5
SEASON: Schema = {
    **dict.fromkeys(("zone", "date"), TEXT),
    "provisional": BOOLEAN,
    **dict.fromkeys(("value", "value_30d_ago", "btc_return", "high_1y", "low_1y"), NUMBER_OR_NULL),
    **dict.fromkeys(("n_coins", "n_beat_btc", "days_alt_season_1y", "days_btc_season_1y"), INTEGER),
    **dict.fromkeys(("last_cross_alt_season", "last_cross_btc_season"), TEXT_OR_NULL),
}
OF_COIN: Schema = {"base": TEXT, "rank": INTEGER, **dict.fromkeys(("return_90d", "vs_btc"), NUMBER_OR_NULL)}
METHOD = (
    "altcoin_season: share of the day's top 50 altcoins by volume whose return over 90 days beat bitcoin's, 0 to 100;"
    f" from 75 up it is altcoin season, to 25 bitcoin season. fear_greed: {METHODOLOGY}"
)


class IndicesQuery(NamedTuple):
    """How many days of history."""

    days: int


def answer(query: IndicesQuery, db: Reader) -> ToolResult:
    """Both indices, each with the values of the last days."""
    as_of = db.edition.as_of_ms
    today = as_of - as_of % DAY
    season, feared = read_altcoin_season(db), read_fear_greed(db)
    first = today - query.days * DAY
    history: dict[str, dict[str, Any]] = {}
    for t, value in season["history"] if season else ():
        history.setdefault(iso(t)[:10], {})["altcoin_season"] = value
    for day in feared["days"]:
        history.setdefault(day["date"], {})["fear_greed"] = day["value"]
    dates = [date for date in sorted(history) if date >= iso(first)[:10]]
    # What is of yesterday or of today is as new as it can be.
    current = feared["today"]["value"] is not None or iso(today - DAY)[:10] in history
    warnings = []
    if season is None:
        message = "No completed day has coins with a past of 90 days yet: there is no altcoin season."
        warnings.append({"code": "too_young", "message": message})
    return ToolResult(
        data=rounded(
            {
                "altcoin_season": season and {**{name: season[name] for name in SEASON}, **_extremes(season["coins"])},
                "fear_greed": {
                    "today": feared["today"],
                    "newest_completed": feared["days"][-1] if feared["days"] else None,
                },
                "history": {
                    "date": dates,
                    **{name: [history[date].get(name) for date in dates] for name in ("altcoin_season", "fear_greed")},
                },
            }
        ),
        units={
            "altcoin_season, fear_greed": "index, 0 to 100",
            "return_90d, vs_btc, btc_return": "fraction",
            "components": "percentile, 0 to 100",
            "date": "UTC day",
        },
        span=Span(first, as_of),
        known=Span(first, as_of) if dates else None,
        fresh_until_ms=fresh_until(today if current else None, DAY, Span(first, as_of), db.edition),
        source=f"altcoin_season, altcoin_season_coins, fear_greed@e{db.edition.edition_id}",
        method=METHOD,
        warnings=warnings,
        rest="/api/altcoin-season",
        page="/indices",
    )


def _extremes(coins: list[dict[str, Any]]) -> dict[str, Any]:
    ordered = sorted(coins, key=lambda one: (-one["vs_btc"], one["base"]))
    listed = [{name: one[name] for name in OF_COIN} for one in ordered]
    # A coin is in one of the lists.
    best = listed[:MOST_COINS]
    return {"best": best, "worst": listed[len(best) :][::-1][:MOST_COINS]}


RANKED = array_of(object_of(OF_COIN))
MARKET_INDICES = Tool(
    "market_indices",
    "Altcoin season, fear and greed",
    "Two indices of the whole market, 0 to 100: altcoin season (do altcoins beat bitcoin over 90 days?) with the coins"
    " that did best and worst, and fear and greed in derivatives with its components. Daily; today's fear and greed is"
    " provisional.",
    {"days": whole_number("Days of history.", 1, HISTORY_DAYS, 30)},
    object_of(
        {
            "altcoin_season": {
                **object_of({**SEASON, "best": RANKED, "worst": RANKED}, nullable=True),
                "description": "Of the newest completed day; vs_btc: return_90d less that of BTC.",
            },
            "fear_greed": object_of({"today": {"type": "object"}, "newest_completed": {"type": ["object", "null"]}}),
            "history": object_of(
                {
                    "date": array_of(TEXT),
                    **dict.fromkeys(("altcoin_season", "fear_greed"), array_of(NUMBER_OR_NULL)),
                }
            ),
        }
    ),
    lambda values, edition, keyed: IndicesQuery(**values),
    answer,
)
