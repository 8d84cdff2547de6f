"""GET /api/hyperliquid/liquidations on a small replica: windows, totals, and what was recorded whole."""

from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.replica.replica_snapshots import DAY
from tests.support.servers.api_server import Api, free_port, running


@pytest.mark.requirement("wallets:shape", "wallets:window")
def test_wallet_liquidations(api: Api) -> None:
    content = api.get("/api/hyperliquid/liquidations").json
    assert (content["window"], content["from"], content["to"]) == ("24h", AS_OF_MS - DAY, AS_OF_MS)
    # The event exactly a day ago is in, the one a millisecond before is not.
    assert content["totals"] == {"long_usd": 260.0, "short_usd": 50.0, "n_long": 3, "n_short": 1}
    assert content["coins"] == [
        {"coin": "BTC", "long_usd": 100.0, "short_usd": 50.0, "n": 2},
        {"coin": "ETH", "long_usd": 150.0, "short_usd": 0.0, "n": 1},
        {"coin": "SOL", "long_usd": 10.0, "short_usd": 0.0, "n": 1},
    ]
    assert [(row["usd"], row["coin"], row["wallet"]) for row in content["largest"]] == [
        (150.0, "ETH", "0x3"), (100.0, "BTC", "0x1"), (50.0, "BTC", "0x2"), (10.0, "SOL", "0x4"),
    ]  # fmt: skip
    hourly = content["hourly"]
    assert len(hourly["t"]) == 25
    assert (hourly["long"][0], hourly["long"][-1], sum(hourly["short"])) == (10.0, 100.0, 50.0)
    # The recorder was down for eleven minutes.
    assert (content["complete"], content["partial"], content["overflow"]) == (False, True, False)
    assert content["coverage"]["fraction"] == pytest.approx(1 - 11 / 1440)
    assert (content["retained_count"], content["oldest_retained_ms"]) == (5, AS_OF_MS - DAY - 1)
    week = api.get("/api/hyperliquid/liquidations?window=7d").json
    assert week["totals"]["short_usd"] == 1050.0
    # Recording began three days ago: no hour before has a zero.
    assert week["hourly"]["long"][:95] == [None] * 95
    assert week["hourly"]["long"][97] == 0
    assert "use one of 24h, 7d" in api.get("/api/hyperliquid/liquidations?window=1h").error


@pytest.mark.requirement("wallets:shape")
def test_a_window_that_was_recorded_whole_is_complete(tmp_path: Path) -> None:
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from gaps")
    with running(tmp_path / "serving", free_port()) as api:
        day, week = (api.get(f"/api/hyperliquid/liquidations?window={window}").json for window in ("24h", "7d"))
        assert (day["complete"], day["partial"], day["coverage"]["fraction"]) == (True, False, 1.0)
        assert (week["complete"], week["partial"]) == (False, True)
        assert week["coverage"]["fraction"] == pytest.approx(3 / 7)
