"""explain_number: the bucket of /api/explain, its greatest markets first."""

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.mcp_calls import Mcp, iso, near

HOUR = 60 * MINUTE
T = AS_OF_MS - AS_OF_MS % HOUR - 2 * HOUR


@pytest.mark.requirement("mcp:explain")
@pytest.mark.parametrize(
    "chosen",
    [
        {"metric": "oi", "base": "BTC"}, {"metric": "funding", "base": "BTC", "venue": "binance"},
        {"metric": "liquidations", "base": "eth"}, {"metric": "spot-perp-volume"},
        {"metric": "price", "market": "binance:spot:BTCUSDT"},
        {"metric": "long-short", "base": "BTC", "kind": "top_acct"}, {"metric": "price", "base": "ETH", "type": "all"},
    ],
    ids=lambda chosen: "-".join(chosen.values()),
)  # fmt: skip
def test_a_number_has_its_markets_and_its_parts(mcp: Mcp, chosen: dict[str, str]) -> None:
    got = mcp.call("explain_number", {**chosen, "t": iso(T + 5 * MINUTE), "step": "1h"})
    asked = "&".join(f"{name}={value}" for name, value in chosen.items())
    whole = mcp.api.get(f"/api/explain?{asked}&step=1h&t={T + 5 * MINUTE}&limit=200").json
    data = got["data"]
    assert (data["step"], data["t"], data["end"], data["total"]) == ("1h", T, T + HOUR, whole["total"])
    for name in ("metric", "base", "market", "venue", "type", "kind", "formula", "sql"):
        assert data[name] == whole[name], name
    for name, value in whole["values"].items():
        assert near(data["values"][name], value), name
    by_market = {one["market_id"]: one["values"] for one in whole["markets"]}
    assert {one["market_id"] for one in data["markets"]} == set(by_market)
    sizes = [max(abs(value or 0) for value in by_market[one["market_id"]].values()) for one in data["markets"]]
    assert sizes == sorted(sizes, reverse=True)
    evidence = data["evidence"]
    assert (evidence["market_id"], evidence["t"]) == (whole["evidence"]["market_id"], whole["evidence"]["t"])
    assert len(evidence["parts"]) == len(whole["evidence"]["parts"]) <= 60
    assert (evidence["responses"], bool(evidence["reason"])) == ([], True)
    assert got["coverage"]["requested"] == {"start": T, "end": T + HOUR}


@pytest.mark.requirement("mcp:explain")
def test_without_a_step_the_finest_that_is_kept_is_explained(mcp: Mcp) -> None:
    for back, step in ((HOUR, "1m"), (15 * DAY, "5m"), (300 * DAY, "15m")):
        got = mcp.call("explain_number", {"metric": "price", "base": "BTC", "t": iso(AS_OF_MS - back)})
        assert got["data"]["step"] == step
    of = {"metric": "oi", "base": "BTC", "t": iso(T), "of": "bybit:perp:BTCUSDT"}
    assert mcp.call("explain_number", of)["data"]["evidence"]["market_id"] == "bybit:perp:BTCUSDT"


@pytest.mark.requirement("mcp:explain")
def test_what_cannot_be_explained_is_named(mcp: Mcp) -> None:
    oi = {"metric": "oi", "base": "BTC", "t": iso(T)}
    for wrong, argument in (
        ({"metric": "oii"}, "metric"), ({"t": "yesterday"}, "t"), ({"t": iso(AS_OF_MS + HOUR)}, "t"),
        ({"of": "bybit:perp:NOPE"}, "of"), ({"base": "NOPE"}, "base"), ({"step": "7m"}, "step"),
        ({"market": "bybit:perp:BTCUSDT"}, "base, market"),
    ):  # fmt: skip
        assert mcp.wrong("explain_number", {**oi, **wrong})["data"]["argument"] == argument, wrong
