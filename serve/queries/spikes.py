"""What prices did after volume spikes, by horizon."""

from collections.abc import Sequence
from typing import Any

from serve.replica.edition import Reader

HORIZONS_MIN = (5, 15, 60)
SQL = """
select id, horizon_min, state, reason, return, directional_return from spike_outcomes
where ts >= $since and id in (select unnest($ids))
"""


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
