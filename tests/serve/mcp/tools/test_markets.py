"""market_snapshot: a coin's entry of the markets snapshot, of the newest edition."""

from pathlib import Path

import pytest

from tests.support.replica.replica import AS_OF_MS, MINUTE, publish
from tests.support.servers.api_server import free_port, running, until
from tests.support.servers.mcp_calls import Mcp, near


@pytest.mark.requirement("mcp:snapshot")
@pytest.mark.parametrize("kind", ["perp", "spot", "all"])
def test_a_snapshot_is_the_coins_row_of_the_json_api(mcp: Mcp, kind: str) -> None:
    [coin] = [coin for coin in mcp.api.get("/api/markets").json["coins"] if coin["base"] == "BTC"]
    got = mcp.call("market_snapshot", {"base": "btc", "type": kind})
    entries = [(one, entry) for one in ("perp", "spot") if kind in (one, "all") for entry in coin[f"{one}s"]]
    data = got["data"]
    assert (data["base"], [market["market"] for market in data["markets"]]) == (
        "BTC",
        [f"{entry['venue']}:{one}:{entry['symbol']}" for one, entry in entries],
    )
    for market, (_, entry) in zip(data["markets"], entries, strict=True):
        assert near(market["price"], entry["price"], 8)
        for name in ("oi_usd", "vol24h", "funding", "px_24h", "oi_24h"):
            assert near(market[name], entry[name]), name
    oi = [market["oi_usd"] or 0 for market in data["markets"]]
    assert oi == sorted(oi, reverse=True)
    for name in ("perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg"):
        assert near(data["summary"][name], coin[name])
    assert (data["summary"]["perps"], data["summary"]["spots"]) == (len(coin["perps"]), len(coin["spots"]))
    limited = mcp.call("market_snapshot", {"base": "BTC", "type": kind, "limit": 1})["data"]
    assert (limited["markets"], limited["summary"]) == (data["markets"][:1], data["summary"])


@pytest.mark.requirement("mcp:edition")
def test_a_result_is_from_the_newest_edition(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    publish(serving, 1, AS_OF_MS - MINUTE, max_days=2)
    with running(serving, free_port()) as api:
        mcp = Mcp(api)
        assert mcp.call("market_snapshot", {"base": "BTC"})["provenance"]["edition"] == 1
        publish(serving, 2, max_days=2)
        until(lambda: mcp.call("market_snapshot", {"base": "BTC"}), lambda got: got["provenance"]["edition"] == 2)
        assert mcp.call("market_snapshot", {"base": "BTC"})["as_of"] == AS_OF_MS
