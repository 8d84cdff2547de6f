"""Liquidation risk: the API's ranking and history are those of the tools."""

from collections.abc import Iterator

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.replica.xray_replica import xray_server
from tests.support.servers.api_server import Api
from tests.support.servers.mcp_calls import Mcp

PERP = "binance:perp:BTCUSDT"
FIGURES = ("exposure_usd", "depth_usd", "ratio", "ratio_low", "ratio_high")


@pytest.fixture(scope="module")
def xray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with xray_server(tmp_path_factory.mktemp("xray")) as api:
        yield api


@pytest.mark.requirement("xray:ranking")
@pytest.mark.parametrize(("band", "side"), [("2", "both"), ("0.5", "long"), ("5", "short")])
def test_the_ranking_is_that_of_the_tool(xray: Api, band: str, side: str) -> None:
    tool = Mcp(xray).call("xray_risk_ranking", {"band_pct": float(band), "side": side, "limit": 50})["data"]
    got = xray.get(f"/api/xray?band_pct={band}&side={side}").json
    assert (got["band_pct"], got["side"], got["counts"]) == (float(band), side, tool["counts"])
    listed = [*tool["ranked"], *({"rank": None, **row} for row in tool["partial"])]
    assert listed
    assert [row["rank"] for row in got["rows"]] == [row["rank"] for row in listed]
    for row, same in zip(got["rows"], listed, strict=True):
        assert [row[name] for name in FIGURES] == pytest.approx([same[name] for name in FIGURES], rel=1e-6)
        assert row["state"] == ("full" if row["rank"] else "partial")
        assert row["reason"] == same.get("reason")


@pytest.mark.requirement("xray:history")
def test_the_history_is_that_of_the_tool(xray: Api) -> None:
    tool = Mcp(xray).call("xray_risk_history", {"market": PERP, "range": "6h", "step": "5m"})["data"]
    got = xray.get(f"/api/xray/{PERP}?range=6h&step=5m").json
    assert (got["bands_pct"], got["end"]) == (tool["bands_pct"], AS_OF_MS)
    assert [point["t"] for point in got["points"]] == [point["t"] for point in tool["points"]] != []
    for point, same in zip(got["points"], tool["points"], strict=True):
        assert point["coverage"] == same["coverage"]
        assert point["ratio_long"] == pytest.approx(same["ratio_long"], rel=1e-6)
    assert [leg["pair"] for leg in got["index"]] == [leg["pair"] for leg in tool["index"]]
