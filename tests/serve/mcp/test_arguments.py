"""Arguments of tools: what is refused, with the nearest value that is allowed, and null as not given."""

from typing import Any

import orjson
import pytest

from tests.support.replica.replica import LAST, MINUTE
from tests.support.servers.mcp_calls import Mcp, iso


@pytest.mark.requirement("mcp:errors:data")
@pytest.mark.parametrize(
    ("tool", "arguments", "argument", "value", "nearest"),
    [
        ("market_snapshot", {}, "base", None, None),
        ("market_snapshot", {"base": "BTX"}, "base", "BTX", "BTC"),
        ("market_snapshot", {"base": ""}, "base", "", None),
        ("market_snapshot", {"base": 5}, "base", 5, None),
        ("market_snapshot", {"base": ["BTC"]}, "base", ["BTC"], None),
        ("market_snapshot", {"base": "binance:perp:BTCUSDT"}, "base", "binance:perp:BTCUSDT", None),
        ("market_snapshot", {"base": "BTC", "limit": 51}, "limit", 51, 50),
        ("market_snapshot", {"base": "BTC", "limit": 0}, "limit", 0, 1),
        ("market_snapshot", {"base": "BTC", "limit": 1.5}, "limit", 1.5, 1),
        ("market_snapshot", {"base": "BTC", "limit": True}, "limit", True, None),
        ("market_snapshot", {"base": "BTC", "limit": "20"}, "limit", "20", None),
        ("market_snapshot", {"base": "BTC", "type": "perps"}, "type", "perps", "perp"),
        ("market_snapshot", {"base": "BTC", "limits": 1}, "limits", 1, "limit"),
        ("oi_history", {}, "base, market", "neither", None),
        ("oi_history", {"base": "BTC", "market": "binance:perp:BTCUSDT"}, "base, market", "base and market", None),
        ("oi_history", {"market": "binance:perp:BTCUST"}, "market", "binance:perp:BTCUST", "binance:perp:BTCUSDT"),
        ("oi_history", {"market": "binanse:perp:BTCUSDT"}, "market", "binanse:perp:BTCUSDT", "binance:perp:BTCUSDT"),
        ("oi_history", {"market": "binance:spot:BTCUSDT"}, "market", "binance:spot:BTCUSDT", None),
        ("oi_history", {"base": "BTC", "range": "1 day"}, "range", "1 day", None),
        ("oi_history", {"base": "BTC", "range": "3y"}, "range", "3y", "730d"),
        ("funding_history", {"base": "BTC", "range": "11y"}, "range", "11y", "3650d"),
        ("oi_history", {"base": "BTC", "step": "10m"}, "step", "10m", "1m"),
        ("oi_history", {"base": "BTC", "step": "auto"}, "step", "auto", None),
        ("oi_history", {"base": "BTC", "venue": "binanc"}, "venue", "binanc", "binance"),
        ("oi_history", {"market": "binance:perp:BTCUSDT", "venue": "bybit"}, "venue", "bybit", None),
        ("liquidations_history", {"base": "BTC", "venue": "hyperliquid"}, "venue", "hyperliquid", None),
        ("funding_history", {"base": "BTC", "type": "spot"}, "type", "spot", None),
        ("oi_history", {"base": "BTC", "start": "2026-06-01"}, "start", "2026-06-01", None),
        ("oi_history", {"base": "BTC", "start": "2026-06-01T00:00:00"}, "start", "2026-06-01T00:00:00", None),
        ("oi_history", {"base": "BTC", "start": "2026-06-01T00:00+02"}, "start", "2026-06-01T00:00+02", None),
        ("oi_history", {"base": "BTC", "start": "2026-13-01T00:00:00Z"}, "start", "2026-13-01T00:00:00Z", None),
        ("oi_history", {"base": "BTC", "start": 1781526896789}, "start", 1781526896789, None),
        ("oi_history", {"base": "BTC", "end": "2999-01-01T00:00:00Z"}, "end", "2999-01-01T00:00:00Z", None),
        ("spike_feed", {"side": "long"}, "side", "long", None),
        ("spike_feed", {"min_sig": -1}, "min_sig", -1, None),
        ("xray_risk_ranking", {"band_pct": 3}, "band_pct", 3, 2.0),
        ("xray_risk_ranking", {"side": "buy"}, "side", "buy", None),
        ("xray_risk_history", {}, "market", None, None),
        ("xray_risk_history", {"market": "binance:perp:BTCUSDT", "step": "5min"}, "step", "5min", "5m"),
    ],
)  # fmt: skip
def test_errors_teach(mcp: Mcp, tool: str, arguments: Any, argument: str, value: Any, nearest: Any) -> None:
    error = mcp.wrong(tool, arguments)
    data = error["data"]
    assert (data["argument"], data["value"], data["nearest"]) == (argument, value, nearest)
    assert data["allowed"]
    assert argument in error["message"]
    if nearest is not None and argument != "range":
        assert f"did you mean {nearest!r}?" in error["message"]
    assert orjson.dumps(error).isascii() or "é" in str(arguments)


@pytest.mark.requirement("mcp:errors:data")
def test_an_end_before_the_start_and_a_long_value_get_short_errors(mcp: Mcp) -> None:
    error = mcp.wrong("oi_history", {"base": "BTC", "start": iso(LAST), "end": iso(LAST - MINUTE)})
    assert (error["data"]["argument"], iso(LAST) in error["message"]) == ("end", True)
    long = mcp.wrong("spike_feed", {"side": "x" * 20_000})
    assert len(orjson.dumps(long)) < 1000
    wide = mcp.wrong("spike_outcomes", {"ids": list(range(3000))})
    assert len(orjson.dumps(wide)) < 1000


@pytest.mark.requirement("mcp:arguments")
def test_null_counts_as_not_given(mcp: Mcp) -> None:
    nulls = dict.fromkeys(("market", "range", "start", "end", "step", "venue", "type"))
    assert mcp.call("oi_history", {"base": "BTC", **nulls}) == mcp.call("oi_history", {"base": "BTC"})
