"""coin_overview: the figures of /api/coin/{base}, of which it leaves long lists out."""

import pytest

from tests.support.servers.mcp_calls import Mcp, near

OF_MARKET = ("price", "oi_usd", "vol24h", "funding")


@pytest.mark.requirement("mcp:overview")
@pytest.mark.parametrize("base", ["BTC", "eth", "PEPE", "xyz:tsla"])
def test_an_overview_has_the_coin_s_own_figures(mcp: Mcp, base: str) -> None:
    got = mcp.call("coin_overview", {"base": base})
    data, coin = got["data"], mcp.api.get(f"/api/coin/{base}").json
    market, liquidated = coin["market"], coin["liquidations"]
    assert (data["base"], data["venues"], data["categories"]) == (market["base"], market["venues"], market["cat"])
    summary = data["summary"]
    for name in ("px_1h", "px_4h", "px_24h", "oi_usd", "oi_1h", "oi_24h", "funding_avg", "perp_vol24h", "spot_vol24h"):
        assert near(summary[name], market[name]), name
    assert near(summary["price"], market["price"], 8)
    assert near(summary["net_flow24h"], coin["net_flow24h"])
    assert (summary["perps"], summary["spots"]) == (len(market["perps"]), len(market["spots"]))
    assert summary["spikes24h"] == coin["hits24h"]
    assert [one["id"] for one in data["spikes"]] == [one["id"] for one in coin["alerts"][:3]]
    assert [one["market"] for one in data["largest_perps"]] == [
        f"{one['venue']}:perp:{one['symbol']}" for one in market["perps"][:5]
    ]
    for shown, whole in zip(data["largest_perps"], market["perps"], strict=False):
        assert all(near(shown[name], whole[name], 8 if name == "price" else 6) for name in OF_MARKET)
    for window, totals in liquidated["totals"].items():
        assert data["liquidations"][window] == totals
    assert data["liquidations"]["by_venue"] == liquidated["by_venue"]
    assert data["liquidations"]["since"] == liquidated["since"]
    assert data["long_short"] == coin["long_short"]
    counted = got["coverage"]["markets"]
    assert (counted["n"], counted["expected"]) == (market["markets"], market["expected"])
    assert counted["incomplete"] == int(base == "PEPE")


@pytest.mark.requirement("mcp:overview")
def test_an_unknown_coin_is_an_error_that_names_one_that_is_like_it(mcp: Mcp) -> None:
    error = mcp.wrong("coin_overview", {"base": "BTX"})
    assert (error["data"]["argument"], error["data"]["nearest"]) == ("base", "BTC")
    assert mcp.wrong("coin_overview", {"base": "binance:perp:BTCUSDT"})["data"]["argument"] == "base"
