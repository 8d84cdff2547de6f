"""GET /api/heatmap-validation, against rows that follow by hand."""

from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.replica.replica_snapshots import DAY
from tests.support.servers.api_server import Api, free_port, running

VALIDATION = "/api/heatmap-validation"


@pytest.mark.requirement("heatmap:shape")
def test_heatmap_validation(api: Api) -> None:
    content = api.get(VALIDATION).json
    day = AS_OF_MS // DAY * DAY - 2 * DAY
    rates = {"rho_model": 0.5, "rho_base": 0.4, "hit_model": 0.3, "hit_base": 0.1}
    assert content["horizons_h"] == [4, 24]
    assert content["sample"] == {"4": 31, "24": 31}
    assert content["overall"] == {"4": {**rates, "verdict": "better"}, "24": {**rates, "verdict": "worse"}}
    assert (content["from"], content["to"], content["as_of"]) == (day - 5 * DAY, day + DAY, day + DAY)
    assert (content["window"], content["venue"], content["min_scored"]) == ("90d", "binance", 30)
    # The median of the days' medians; a map of the day after the judged one does not count yet.
    assert content["coins"] == {
        "BTC": {
            "4": {
                "rho_model": pytest.approx(0.6),
                "daily": [
                    {"day": "2026-06-12", "rho_model": 0.9},
                    {"day": "2026-06-13", "rho_model": pytest.approx(0.3)},
                ],
            },
            "24": {"rho_model": 0.1, "daily": [{"day": "2026-06-13", "rho_model": 0.1}]},
        },
        "ETH": {"4": {"rho_model": -0.5, "daily": [{"day": "2026-06-13", "rho_model": -0.5}]}},
    }
    assert content["n_coins"] == 2
    assert api.get(f"{VALIDATION}?window=7d").status == 400


@pytest.mark.requirement("heatmap:unavailable")
def test_before_the_first_verdict(tmp_path: Path) -> None:
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from heatmap_verdicts")
    with running(tmp_path / "serving", free_port()) as api:
        answer = api.get(VALIDATION)
        assert (answer.status, answer.json["state"]) == (503, "loading")
        assert int(answer.headers["retry-after"]) > 0
