"""Indices of the whole market: altcoin season, and fear and greed in derivatives."""

from datetime import UTC, datetime
from typing import Any

from serve.contract.schemas import INTEGER, NUMBER, TEXT, TEXT_OR_NULL, Schema
from serve.replica.edition import Reader
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
NAME, FORMULA_VERSION, DAYS = "Derivatives fear and greed", 1, 365
METHODOLOGY = (
    "Mean of up to four percentiles, equally weighted: each is the mid-rank of the day's reading among the readings of"
    " the 365 days that end the day before (at least 30, else it is null and left out). funding: mean funding weighted"
    " by open interest; oi: change of open interest in 7 days; ls: long share of all accounts in the 20 coins with the"
    " highest open interest;"
    " liq: liquidated shorts / all liquidations. Completed days are written once; today is provisional. The table"
    " fear_greed keeps every reading."
)
COMPONENTS = ("funding", "oi", "ls", "liq")
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
FEAR_GREED_SQL = f"""
select t, value, exact, label, final, {", ".join(f"{name}_percentile" for name in COMPONENTS)}
from fear_greed where formula_version = {FORMULA_VERSION} and t between $since and $today order by t
"""


def read_altcoin_season(db: Reader) -> dict[str, Any] | None:
    """The index by day, the newest completed one with its coins; None while no day has coins with a past of 90 days."""
    now = db.edition.as_of_ms
    days = db.rows(DAYS_SQL, {"since": now - now % UNIT_MS["d"] - HISTORY_DAYS * UNIT_MS["d"]})
    if not days:
        return None
    last = days[-1]
    values = {day["t"]: day["value"] for day in days}
    return {
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


def read_fear_greed(db: Reader) -> dict[str, Any]:
    """The index of today, which is provisional, and of each completed day of a year."""
    now = db.edition.as_of_ms
    today = now - now % UNIT_MS["d"]
    rows = db.rows(FEAR_GREED_SQL, {"since": today - DAYS * UNIT_MS["d"], "today": today})
    days = [row for row in rows if row["t"] < today and row["value"] is not None]
    return fear_greed_of(next((row for row in rows if row["t"] == today), None), days, now)


def fear_greed_of(today: dict[str, Any] | None, days: list[dict[str, Any]], now: int) -> dict[str, Any]:
    """The index from the rows of its days; `today` is None while nothing of it is known."""
    unfinished: dict[str, Any] = {"date": _date(now), "value": None, "provisional": True}
    return {
        "name": NAME,
        "formula_version": FORMULA_VERSION,
        "methodology": METHODOLOGY,
        "today": unfinished if today is None else _day(today) | {"provisional": True},
        "days": [_day(row) for row in days],
    }


def _day(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "date": _date(row["t"]),
        **{name: row[name] for name in ("value", "exact", "label")},
        "components": {name: row[f"{name}_percentile"] for name in COMPONENTS},
        "provisional": not row["final"],
    }


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
