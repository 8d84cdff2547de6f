"""GET /api/altcoin-season: daily index of whether altcoins or bitcoin performed better over 90 days."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.figures.indices import ALT_MIN, BTC_MAX, COIN, WINDOW_DAYS, read_altcoin_season
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable

ENTERED: Schema = {**TEXT_OR_NULL, "description": "Newest day in this season after a day outside it."}
SCHEMA = object_of(
    {
        "value": {**NUMBER, "description": "Share of the day's top 50 altcoins that beat BTC over 90 days, 0 to 100."},
        "zone": {"enum": ["altcoin_season", "bitcoin_season", "neutral"]},
        "date": {**TEXT, "description": "The completed UTC day of the value."},
        "history": array_of(
            {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
            "[UTC midnight in epoch ms, value], oldest first; a completed day never changes.",
        ),
        "coins": array_of(object_of(COIN), "Those that count, by rank."),
        "provisional": {"type": "boolean", "description": "The exchanges' history was still being fetched."},
        "as_of": INTEGER,
        "source": {**TEXT, "description": "Table, edition, and what coins are ranked by."},
        "value_30d_ago": NUMBER_OR_NULL,
        "window_days": {"const": WINDOW_DAYS},
        "alt_season_min": {"const": ALT_MIN},
        "btc_season_max": {"const": BTC_MAX},
        "n_coins": {**INTEGER, "description": "Members with a close 90 days before: those that count."},
        "n_beat_btc": INTEGER,
        "n_universe": {**INTEGER, "description": "Altcoins that the day ranks."},
        "btc_return": NUMBER,
        **dict.fromkeys(("high_1y", "low_1y"), NUMBER),
        **dict.fromkeys(("days_alt_season_1y", "days_btc_season_1y"), INTEGER),
        **dict.fromkeys(("last_cross_alt_season", "last_cross_btc_season"), ENTERED),
        "excluded": array_of(
            object_of({"base": TEXT, "reason": TEXT}),
            "What does not count although its volume would make it a member: young (no close 90 days before), the "
            "benchmark, or what stands for something else.",
        ),
    }
)


@endpoint("/api/altcoin-season", ttl=300, statuses=(200, 400, 503), schema=SCHEMA)
def altcoin_season(query: Values, db: Reader) -> Body:
    """Altcoin season index: the share of the top 50 altcoins whose 90-day return beat bitcoin's, by day."""
    found = read_altcoin_season(db)
    if found is None:
        raise Unavailable("no completed day has coins with a past of 90 days yet", missing=True)
    return json_body(found)
