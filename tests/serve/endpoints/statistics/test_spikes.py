"""GET /api/spikes: pages, filters, and outcomes."""

from typing import Any

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api
from tests.support.servers.mcp_calls import Mcp

FEED = "/api/spikes"
HOUR = 3_600_000
OF_TOOL = ("id", "ts", "market", "base", "kind", "dir")


@pytest.mark.requirement("spikes:feed")
@pytest.mark.parametrize(
    "filters",
    [{}, {"base": "btc"}, {"venue": "bybit"}, {"side": "sell", "min_sig": "8"}, {"base": "ETH", "side": "buy"}],
)
def test_the_feed_is_that_of_the_tool(api: Api, filters: dict[str, str]) -> None:
    tool = Mcp(api).call(
        "spike_feed",
        {"range": "3h", "limit": 200, **filters}
        | ({"min_sig": int(filters["min_sig"])} if "min_sig" in filters else {}),
    )["data"]["spikes"]
    asked = "&".join(f"{name}={value}" for name, value in {"range": "3h", "limit": "10", **filters}.items())
    found: list[Any] = []
    page = api.get(f"{FEED}?{asked}").json
    assert (page["start"], page["end"]) == (AS_OF_MS - 3 * HOUR, AS_OF_MS)
    while True:
        found += page["spikes"]
        if page["next"] is None:
            break
        assert len(page["spikes"]) == 10
        page = api.get(f"{FEED}?{asked}&after={page['next']}").json
    assert tool
    assert [[one[name] for name in OF_TOOL] for one in found] == [[one[name] for name in OF_TOOL] for one in tool]


@pytest.mark.requirement("spikes:feed")
def test_a_spike_has_the_outcomes_of_the_tool(api: Api) -> None:
    spikes = api.get(f"{FEED}?range=24h").json["spikes"]
    tool = Mcp(api).call("spike_outcomes", {"ids": [spike["id"] for spike in spikes]})["data"]["outcomes"]
    states = [[one["state"] for one in spike["outcomes"]] for spike in spikes]
    assert states == [[one["state"] for one in spike["returns"]] for spike in tool]
    assert len({state for spike in states for state in spike}) > 1
    for spike, same in zip(spikes, tool, strict=True):
        for one, other in zip(spike["outcomes"], same["returns"], strict=True):
            assert one["horizon_min"] == other["horizon_min"]
            assert (
                one["return"] == pytest.approx(other["return"]) if one["state"] == "observed" else one["return"] is None
            )


@pytest.mark.requirement("spikes:refused")
def test_what_the_feed_refuses(api: Api) -> None:
    assert "25h is too long" in api.get(f"{FEED}?range=25h").error
    assert api.get(f"{FEED}?base=NOPE").status == 404
    assert "no spike has this id" in api.get(f"{FEED}?after=99").error
    assert "such as 1" in api.get(f"{FEED}?after=x").error
    assert api.get(f"{FEED}?start={AS_OF_MS + HOUR}&range=1h").json["spikes"] == []
