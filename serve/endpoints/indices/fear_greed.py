"""GET /api/derivatives-fear-greed: an index from funding, open interest, positions and liquidations."""

import time
from datetime import UTC, datetime
from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable
from serve.replica.units import UNIT_MS

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
LABELS = ["Extreme Fear", "Fear", "Neutral", "Greed", "Extreme Greed"]
VALUE: Schema = {"minimum": 0, "maximum": 100}
PERCENTILE: Schema = {**NUMBER_OR_NULL, "description": "Percentile, 0 to 100; null: unknown, left out of the mean."}
PERCENTILES = object_of(dict.fromkeys(COMPONENTS, PERCENTILE))
DAY: Schema = {"date": TEXT, "value": {**INTEGER, **VALUE}, "exact": NUMBER, "label": {"enum": LABELS}}
PROVISIONAL: Schema = {"type": "boolean"}
SCHEMA = object_of(
    {
        "today": object_of(
            {
                "date": TEXT,
                "value": {"type": ["integer", "null"], **VALUE, "description": "null while no component is known."},
                "provisional": PROVISIONAL,
                "exact": NUMBER_OR_NULL,
                "label": {**TEXT_OR_NULL, "enum": [*LABELS, None]},
                "components": PERCENTILES,
            },
            optional=("exact", "label", "components"),
        ),
        "days": array_of(
            object_of(
                {
                    **DAY,
                    "components": PERCENTILES,
                    "provisional": {**PROVISIONAL, "description": "The exchanges' history was still being fetched."},
                }
            ),
            "Completed UTC days of up to a year, oldest first.",
        ),
        "name": {"const": NAME},
        "formula_version": {"const": FORMULA_VERSION},
        "methodology": TEXT,
        "db": {"const": False, "description": "Only without a database."},
        "error": {"const": True, "description": "Only without a readable database."},
    },
    optional=("name", "formula_version", "methodology", "db", "error"),
)
SQL = f"""
select t, value, exact, label, final, {", ".join(f"{name}_percentile" for name in COMPONENTS)}
from fear_greed where formula_version = {FORMULA_VERSION} and t between $since and $today order by t
"""


def without_replica(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """The same structure without data."""
    empty = {**_body(None, [], time.time_ns() // 1_000_000), "db": False}
    return json_body(empty if outage.missing else {**empty, "error": True}, degraded=True)


@endpoint("/api/derivatives-fear-greed", ttl=300, statuses=(200, 400), schema=SCHEMA, offline=without_replica)
def derivatives_fear_greed(query: Values, db: Reader) -> Body:
    """Fear and greed in derivatives, 0 to 100: today, provisional, and each completed day of a year."""
    now = db.edition.as_of_ms
    today = now - now % UNIT_MS["d"]
    rows = db.rows(SQL, {"since": today - DAYS * UNIT_MS["d"], "today": today})
    days = [row for row in rows if row["t"] < today and row["value"] is not None]
    return json_body(_body(next((row for row in rows if row["t"] == today), None), days, now))


def _body(today: dict[str, Any] | None, days: list[dict[str, Any]], now: int) -> dict[str, Any]:
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


def _date(t: int) -> str:
    return datetime.fromtimestamp(t / 1000, UTC).strftime("%Y-%m-%d")
