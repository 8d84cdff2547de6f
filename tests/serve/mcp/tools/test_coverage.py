"""data_coverage: minutes and shares from the days of /api/coverage, gaps from /api/gaps."""

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, GAPS, MINUTE
from tests.support.servers.mcp_calls import Mcp, iso, warned


@pytest.mark.requirement("mcp:recorded")
def test_the_share_of_each_exchange_follows_from_its_minutes(mcp: Mcp) -> None:
    data, days = mcp.call("data_coverage", {"range": "10d"})["data"], mcp.api.get("/api/coverage?window=30d").json
    first = (AS_OF_MS - 10 * DAY) // DAY * DAY
    assert data["days"] == {"start": first, "end": AS_OF_MS}
    for shown in data["venues"]:
        own = [row for row in days["rows"] if row["venue"] == shown["venue"]]
        counts = {
            name: sum(value or 0 for row in own for t, value in zip(days["t"], row[name], strict=True) if t >= first)
            for name in ("minutes", "recorded")
        }
        assert (shown["minutes"], shown["recorded"]) == (counts["minutes"], counts["recorded"])
        assert shown["share"] == pytest.approx(counts["recorded"] / counts["minutes"], rel=1e-5)
    by_venue = {one["venue"]: one for one in data["venues"]}
    assert set(by_venue) == {"binance", "bybit"}
    assert (by_venue["binance"]["share"], by_venue["bybit"]["worst_kind"]) == (1.0, "liquidations")
    assert by_venue["bybit"]["worst_share"] == pytest.approx(1 - 60 / 1440, rel=1e-5)
    assert data["kinds"] == []
    assert data["summary"]["minutes"] == sum(one["minutes"] for one in data["venues"])


@pytest.mark.requirement("mcp:recorded")
def test_the_longest_gaps_have_their_reasons(mcp: Mcp) -> None:
    got = mcp.call("data_coverage", {"range": "1d"})
    rows = mcp.api.get("/api/gaps?range=1d").json["rows"]
    assert (got["data"]["gaps"], got["data"]["gaps_total"]) == (rows, len(GAPS))
    assert (got["status"], "recording_gap" in warned(got)) == ("partial", True)
    # The outage of the recorder is of every exchange; that of another one is not.
    own = mcp.call("data_coverage", {"venue": "bybit", "range": "1d"})
    assert {gap["venue"] for gap in own["data"]["gaps"]} == {None, "bybit"}
    [kind] = own["data"]["kinds"]
    assert (kind["endpoint"], kind["not_recorded"] > 0) == ("liquidations", True)
    assert [one["venue"] for one in own["data"]["venues"]] == ["bybit"]
    down = GAPS[-2]
    assert mcp.call("data_coverage", {"start": iso(down[0] - 60 * MINUTE), "end": iso(down[0])})["status"] == "ok"


@pytest.mark.requirement("mcp:recorded")
def test_a_range_is_bounded(mcp: Mcp) -> None:
    error = mcp.wrong("data_coverage", {"range": "32d"})
    assert (error["data"]["argument"], error["data"]["nearest"]) == ("range", "31d")
    assert mcp.wrong("data_coverage", {"venue": "coinbase"})["data"]["argument"] == "venue"
    assert mcp.wrong("data_coverage", {"start": iso(AS_OF_MS), "end": iso(AS_OF_MS - DAY)})["data"]["argument"] == "end"
