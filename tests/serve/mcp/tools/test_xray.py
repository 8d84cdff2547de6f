"""xray_risk_ranking and xray_risk_history: which rows are ranked, and the history of one perp."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, MINUTE
from tests.support.replica.xray_replica import xray_server
from tests.support.servers.api_server import free_port, running
from tests.support.servers.mcp_calls import ARGUMENTS, Mcp, warned


@pytest.mark.requirement("mcp:unavailable", "mcp:xray")
def test_a_table_that_is_not_published_is_unavailable(serving: Path) -> None:
    with duckdb.connect(str(serving / "replica_a.duckdb")) as con:
        con.execute("drop table xray_risk; drop table xray_index")
    with running(serving, free_port()) as api:
        mcp = Mcp(api)
        for tool in ("xray_risk_ranking", "xray_risk_history"):
            got = mcp.call(tool, ARGUMENTS[tool])
            assert (got["status"], got["data"], got["as_of"]) == ("unavailable", None, AS_OF_MS)
            assert "xray" not in got["reason"]  # nothing of the inside
        assert mcp.call("market_snapshot", {"base": "BTC"})["status"] == "ok"


@pytest.fixture(scope="module")
def xray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    with xray_server(tmp_path_factory.mktemp("xray")) as api:
        yield Mcp(api)


@pytest.mark.requirement("mcp:xray")
@pytest.mark.parametrize(
    ("side", "ratios"), [("long", (0.3, 0.1, 0.9)), ("short", (0.075, 0.025, 0.225)), ("both", (0.15, 0.05, 0.45))]
)
def test_only_fresh_full_rows_are_ranked(xray: Mcp, side: str, ratios: tuple[float, ...]) -> None:
    got = xray.call("xray_risk_ranking", {"side": side})
    data = got["data"]
    assert [(row["rank"], row["market"]) for row in data["ranked"]] == [
        (1, "binance:perp:ETHUSDT"), (2, "binance:perp:BTCUSDT"),
    ]  # fmt: skip
    assert [row["market"] for row in data["partial"]] == ["binance:perp:1000PEPEUSDT"]
    assert data["partial"][0]["reason"] == "why partial"
    assert [row["ratio"] for row in [*data["ranked"], *data["partial"]]] == list(ratios)
    first = data["ranked"][0]
    assert (first["ratio_low"], first["ratio_high"]) == pytest.approx((ratios[0] / 10, ratios[0] * 10))
    # Without exposure, depth or a ratio, and without open interest: not ranked, but counted.
    assert data["counts"] == {"full": 2, "partial": 1, "stale": 1, "insufficient": 4}
    assert (data["sensitivity_calibrated"], data["band_pct"], data["side"]) == (False, 2.0, side)
    # The newest rows are of 12:30, which is no more than a step and 15 minutes old by the edition, not by the clock.
    assert (got["freshness"], got["status"]) == ("historical", "ok")


@pytest.mark.requirement("mcp:xray")
def test_the_ranking_can_be_narrowed(xray: Mcp) -> None:
    data = xray.call("xray_risk_ranking", {"min_oi_usd": 6e9, "band_pct": 0.5, "limit": 1})["data"]
    assert [row["market"] for row in data["ranked"]] == ["binance:perp:BTCUSDT"]
    assert data["counts"] == {"full": 1, "partial": 0, "stale": 1, "insufficient": 3}


@pytest.mark.requirement("mcp:xray")
def test_the_history_of_one_perp(xray: Mcp) -> None:
    got = xray.call("xray_risk_history", {"market": "binance:perp:BTCUSDT", "range": "6h", "step": "5m"})
    data = got["data"]
    times = [point["t"] for point in data["points"]]
    assert times == list(range(times[0], times[-1] + 1, 300_000))
    assert AS_OF_MS - 5 * MINUTE < times[-1] <= AS_OF_MS
    assert 70 <= len(times) <= 72
    point = data["points"][-1]
    assert data["bands_pct"] == [0.5, 1.0, 2.0, 5.0]
    assert (point["coverage"], point["reason"], point["price"]) == (["full"] * 4, [None] * 4, 100.0)
    assert (point["exposure_long_usd"], point["exposure_short_usd"]) == ([100.0] * 4, [50.0] * 4)
    assert (point["depth_bid_usd"], point["depth_ask_usd"]) == ([1000.0] * 4, [2000.0] * 4)
    assert (point["ratio_long"], point["ratio_short"]) == ([0.1] * 4, [0.025] * 4)
    assert [summary["mean"] for summary in data["summary"]["ratio_long"]] == [0.1] * 4
    assert data["index"] == [
        {"exchange": "binance", "pair": "BTCUSDT", "weight": 0.6},
        {"exchange": "coinbase", "pair": "BTC-USD", "weight": 0.4},
    ]
    assert got["status"] == "partial"  # the recorder was down 100 minutes before the end
    stale = xray.call("xray_risk_history", {"market": "bybit:perp:BTCUSDT"})["data"]
    assert {state for point in stale["points"] for state in point["coverage"]} == {"stale"}
    assert 23 <= len(stale["points"]) <= 25
    none = xray.call("xray_risk_history", {"market": "hyperliquid:perp:BTC"})["data"]["points"][-1]
    assert (none["coverage"], none["reason"]) == (["insufficient"] * 4, ["why insufficient"] * 4)
    assert none["ratio_long"] == [None] * 4


@pytest.mark.requirement("mcp:xray")
def test_a_window_of_too_many_points_loses_its_start(xray: Mcp) -> None:
    arguments = {"market": "binance:perp:BTCUSDT", "range": "3d", "step": "5m"}
    got = xray.call("xray_risk_history", arguments)
    assert "clamped" in warned(got)
    assert got["coverage"]["requested"]["end"] == AS_OF_MS
    times = [point["t"] for point in got["data"]["points"]]
    assert (len(times) <= 300, times[-1] > AS_OF_MS - 5 * MINUTE) == (True, True)
    assert times[0] >= AS_OF_MS - 300 * 5 * MINUTE
    assert "clamped" not in warned(xray.call("xray_risk_history", {**arguments, "range": "24h"}))
    assert xray.wrong("xray_risk_history", {"market": "binance:perp:NOPE"})["data"]["argument"] == "market"
