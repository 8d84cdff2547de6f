"""GET /api/perp-dex-ranking on a small replica: order, shares, live, stale and missing venues."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import free_port, running, until


def dex(tmp_path: Path, age_s: int, changes: str = "") -> dict[str, Any]:
    """The ranking of a replica that is so old now."""
    path = publish(tmp_path / "serving", 1, max_days=1)
    if changes:
        with duckdb.connect(str(path)) as con:
            con.execute(changes)
    with running(tmp_path / "serving", free_port(), now_ms=AS_OF_MS + age_s * 1000) as api:
        # On a busy machine the first request may come before the edition is open.
        answer = until(lambda: api.get("/api/perp-dex-ranking"), lambda answer: answer.status == 200)
        assert answer.headers["cache-control"] == "no-store"
        content: dict[str, Any] = answer.json
        return content


@pytest.mark.requirement("dex:shape", "dex:shares", "dex:status")
def test_ranking_has_live_stale_and_missing_venues(tmp_path: Path) -> None:
    content = dex(tmp_path, 20)
    live, stale, missing = content["venues"]
    assert 20 <= live.pop("age_s") < 200
    assert 620 <= stale.pop("age_s") < 800
    assert live == {
        "rank": 1, "venue": "hyperliquid", "name": "Hyperliquid", "status": "live", "oi_usd": 600.0,
        "vol24h_usd": 300.0, "oi_share": 600 / 700, "vol_share": 0.3, "oi_partial": False, "n_markets": 3,
        "markets": 3, "expected": 3,
    }  # fmt: skip
    assert stale == {
        "rank": 2, "venue": "aster", "name": "Aster", "status": "stale", "oi_usd": 100.0, "vol24h_usd": 700.0,
        "oi_share": 100 / 700, "vol_share": 0.7, "oi_partial": True, "n_markets": 5,
        "markets": 5, "expected": 5,
    }  # fmt: skip
    nulls = (
        "rank",
        "age_s",
        "oi_usd",
        "vol24h_usd",
        "oi_share",
        "vol_share",
        "oi_partial",
        "n_markets",
        "markets",
        "expected",
    )
    assert missing == {"venue": "lighter", "name": "Lighter", "status": "missing", **dict.fromkeys(nulls)}
    totals = ("total_oi_usd", "total_vol24h_usd", "n_live", "n_venues", "n_markets")
    assert [content[name] for name in totals] == [700.0, 1000.0, 1, 3, 8]
    for share in ("oi_share", "vol_share"):
        assert math.isclose(sum(venue[share] or 0 for venue in content["venues"]), 1, abs_tol=1e-12)


@pytest.mark.requirement("dex:status")
def test_a_young_recording_is_loading_and_a_day_old_value_is_none(tmp_path: Path) -> None:
    young = "update edition set recorded_since_ms = as_of_ms - 240000; delete from venue_totals where venue = 'aster'"
    assert [venue["status"] for venue in dex(tmp_path, 20, young)["venues"]] == ["live", "loading", "loading"]
    old = "update venue_totals set observed_ms = observed_ms - 86400000 where venue = 'aster'"
    assert [venue["status"] for venue in dex(tmp_path, 20, old)["venues"]] == ["live", "missing", "missing"]


@pytest.mark.requirement("dex:status")
def test_an_old_edition_has_no_live_venue(tmp_path: Path) -> None:
    content = dex(tmp_path, 3600)
    assert [venue["status"] for venue in content["venues"]] == ["stale", "stale", "missing"]
    assert content["n_live"] == 0
