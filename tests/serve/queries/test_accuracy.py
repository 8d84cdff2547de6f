"""Warnings of tools that answer from a venue whose recorded values differ from its own history."""

import pytest

from tests.support.servers.api_server import Api
from tests.support.servers.mcp_calls import Mcp, warned


@pytest.mark.requirement("mcp:history")
def test_a_venue_that_differs_from_its_own_history_is_a_warning(api: Api) -> None:
    """Of its metric, of its coins and of it alone."""
    mcp = Mcp(api)
    expected = "bybit funding 3 % on 2026-06-13 (allowed 1 %). See /api/accuracy."
    bad = ({"base": "BTC"}, {"base": "BTC", "venue": "bybit"}, {"market": "bybit:perp:ETHUSDT"})
    for tool, asked in (*(("funding_history", one) for one in bad), ("market_snapshot", {"base": "BTC"})):
        got = mcp.call(tool, asked)
        [message] = [warning["message"] for warning in got["warnings"] if warning["code"] == "inaccurate"]
        assert message.endswith(expected)
    for asked in ({}, {"base": "BTC"}, {"venue": "bybit"}):
        assert "inaccurate" in warned(mcp.call("spike_feed", asked))
    for tool, asked in (
        ("spike_feed", {"venue": "binance"}),
        ("xray_risk_ranking", {}),
        ("oi_history", bad[0]),
        ("funding_history", {"base": "BTC", "venue": "binance"}),
    ):
        assert "inaccurate" not in warned(mcp.call(tool, asked))
