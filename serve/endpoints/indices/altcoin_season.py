"""GET /api/altcoin-season: daily index of whether altcoins or bitcoin performed better over 90 days."""

from datetime import UTC, datetime
from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable
from serve.replica.units import UNIT_MS

ALT_MIN, BTC_MAX = 75, 25
HISTORY_DAYS, WINDOW_DAYS = 366, 90
COIN: Schema = {
    "rank": {**INTEGER, "description": "By the mean of the daily USD volume of 30 days, on that day."},
    "base": TEXT,
    "symbol": TEXT_OR_NULL,
    "return_90d": NUMBER,
    "vs_btc": {**NUMBER, "description": "return_90d less that of BTC."},
    "beat_btc": {"type": "boolean"},
}
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
DAYS_SQL = """
select * from altcoin_season
where version = (select max(version) from altcoin_season) and t >= $since and value is not null
order by t
"""
COINS_SQL = f"""
select {", ".join(COIN)} from altcoin_season_coins
where t = $t and version = $version and excluded_reason is null and beat_btc is not null
order by rank
"""


@endpoint("/api/altcoin-season", ttl=300, statuses=(200, 400, 503), schema=SCHEMA)
def altcoin_season(query: Values, db: Reader) -> Body:
    """Altcoin season index: the share of the top 50 altcoins whose 90-day return beat bitcoin's, by day."""
    now = db.edition.as_of_ms
    days = db.rows(DAYS_SQL, {"since": now - now % UNIT_MS["d"] - HISTORY_DAYS * UNIT_MS["d"]})
    if not days:
        raise Unavailable("no completed day has coins with a past of 90 days yet", missing=True)
    last = days[-1]
    values = {day["t"]: day["value"] for day in days}
    return json_body(
        {
            "value": last["value"],
            "zone": _zone(last["value"]),
            "date": _date(last["t"]),
            "history": [list(pair) for pair in values.items()],
            "coins": db.rows(COINS_SQL, {"t": last["t"], "version": last["version"]}),
            "provisional": not last["final"],
            "as_of": now,
            "source": f"altcoin_season@e{db.edition.edition_id}, ranked by the 30-day mean of daily USD volume",
            "value_30d_ago": values.get(last["t"] - 30 * UNIT_MS["d"]),
            "window_days": WINDOW_DAYS,
            "alt_season_min": ALT_MIN,
            "btc_season_max": BTC_MAX,
            **{name: last[name] for name in ("n_coins", "n_beat_btc", "n_universe", "btc_return")},
            **_year(values),
            "excluded": last["excluded"],
        }
    )


def _year(values: dict[int, float]) -> dict[str, Any]:
    """Extremes, days in each season, and the last entry into each."""
    figures: dict[str, Any] = {"high_1y": max(values.values()), "low_1y": min(values.values())}
    for name, zone in (("alt", "altcoin_season"), ("btc", "bitcoin_season")):
        inside = [t for t, value in values.items() if _zone(value) == zone]
        before = {t: values.get(t - UNIT_MS["d"]) for t in inside}
        entered = [t for t, value in before.items() if value is not None and _zone(value) != zone]
        figures[f"days_{name}_season_1y"] = len(inside)
        figures[f"last_cross_{name}_season"] = _date(max(entered)) if entered else None
    return figures


def _zone(value: float) -> str:
    return "altcoin_season" if value >= ALT_MIN else "bitcoin_season" if value <= BTC_MAX else "neutral"


def _date(t: int) -> str:
    return datetime.fromtimestamp(t / 1000, UTC).strftime("%Y-%m-%d")
