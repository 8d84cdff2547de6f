"""Volume spikes of a window, and what prices did after them, by horizon."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, object_of
from serve.replica.edition import Reader
from serve.replica.units import UNIT_MS

HORIZONS_MIN = (5, 15, 60)
DEFAULT_WINDOW_MS, LONGEST_WINDOW_MS = UNIT_MS["h"], UNIT_MS["d"]
SPIKE: Schema = {
    "id": INTEGER,
    "ts": INTEGER,
    "market": TEXT,
    "base": TEXT_OR_NULL,
    "kind": TEXT,
    "dir": {"enum": ["buy", "sell", None], "description": "null if neither taker volume nor the price shows one."},
    "sig": NUMBER,
    "volume_usd": NUMBER,
    "baseline_usd": NUMBER,
    "price": NUMBER_OR_NULL,
}
OUTCOME = object_of(
    {
        "horizon_min": {"enum": list(HORIZONS_MIN)},
        "state": {
            "enum": ["pending", "observed", "unavailable"],
            "description": "pending: not due yet, or not observed yet; unavailable: the bar that decides never came.",
        },
        "reason": {**TEXT_OR_NULL, "description": "missing_outcome where it is unavailable."},
        "return": {**NUMBER_OR_NULL, "description": "Close so many minutes later / price - 1, a fraction."},
        "directional_return": {**NUMBER_OR_NULL, "description": "Its sign turned for sell spikes."},
    }
)
COLUMNS = "id, ts, market_id as market, base, kind, dir, sig, volume_usd, baseline_usd, price"
SQL = """
select id, horizon_min, state, reason, return, directional_return from spike_outcomes
where ts >= $since and id in (select unnest($ids))
"""


class FeedQuery(NamedTuple):
    """A window, filters, and the spike (ts, id) after which the page begins."""

    start: int
    end: int
    base: str | None
    venue: str | None
    side: str | None
    min_sig: float | None
    limit: int
    after: tuple[int, int] | None


def read_feed(db: Reader, query: FeedQuery) -> list[dict[str, Any]]:
    """The spikes of a page, newest first, and one more if there are further ones."""
    terms = ["ts >= $start", "ts < $end"]
    args: dict[str, Any] = {"start": query.start, "end": query.end, "most": query.limit + 1}
    for column, value in (("base", query.base), ("venue", query.venue), ("dir", query.side)):
        if value is not None:
            terms.append(f"{column} = ${column}")
            args[column] = value
    if query.min_sig is not None:
        terms.append("sig >= $sig")
        args["sig"] = query.min_sig
    if query.after:
        terms.append("(ts, id) < ($ts, $id)")
        args |= dict(zip(("ts", "id"), query.after, strict=True))
    return db.rows(
        f"select {COLUMNS} from spikes where {' and '.join(terms)} order by ts desc, id desc limit $most", args
    )


def read_outcomes(db: Reader, spikes: Sequence[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """The outcomes of each of these spikes by its id, one a horizon; without a row yet an outcome is pending."""
    if not spikes:
        return {}
    args = {"ids": [spike["id"] for spike in spikes], "since": min(spike["ts"] for spike in spikes)}
    known = {(row.pop("id"), row["horizon_min"]): row for row in db.rows(SQL, args)}
    pending = {"state": "pending", "reason": None, "return": None, "directional_return": None}
    return {
        spike["id"]: [
            known.get((spike["id"], horizon), {"horizon_min": horizon, **pending}) for horizon in HORIZONS_MIN
        ]
        for spike in spikes
    }
