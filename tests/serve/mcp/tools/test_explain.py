"""explain_number: the bucket of /api/explain, its greatest markets first."""

import pytest

from serve.mcp.tools.explain import _evidence
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
def test_responses_are_few_and_short_and_as_the_exchange_sent_them() -> None:
    """`tests/serve/queries/test_evidence.py` finds them in a landing."""
    columns = {"symbol": "BTCUSDT", "price": 60_012.345678, "levels": [[60_000.5, 1.25]] * 500, "reject": None}
    response = {
        "venue": "binance", "endpoint": "order_books", "key": "BTCUSDT", "params": "s" * 5000, "received_ms": T,
        "file": "responses/x.parquet", "load": "1.5", "body": None, "read_with": "duckdb …",
        "rows": [{"view": "stg_binance__order_books", "row": None, "columns": columns}] * 4,
    }  # fmt: skip
    parts = [{"t": T + n * MINUTE, "values": {"v": 1 / 3}} for n in range(100)]
    whole = {"market_id": "m", "step": MINUTE, "parts": parts, "t": T, "responses": [response] * 9, "reason": None}
    found = _evidence(whole)
    assert found
    assert (len(found["parts"]), found["parts"][-1], len(found["responses"])) == (
        60, {"t": T + 99 * MINUTE, "values": {"v": 0.333333}}, 3,
    )  # fmt: skip
    shown = found["responses"][0]
    assert set(shown) == {"venue", "endpoint", "key", "params", "received_ms", "file", "rows"}
    assert (len(shown["params"]), len(shown["rows"])) == (301, 2)
    assert shown["rows"][0]["columns"] == columns | {"levels": shown["rows"][0]["columns"]["levels"]}
    assert len(shown["rows"][0]["columns"]["levels"]) == 301
    assert _evidence(None) is None


@pytest.mark.requirement("mcp:explain")
def test_what_cannot_be_explained_is_named(mcp: Mcp) -> None:
    oi = {"metric": "oi", "base": "BTC", "t": iso(T)}
    for wrong, argument in (
        ({"metric": "oii"}, "metric"), ({"t": "yesterday"}, "t"), ({"t": iso(AS_OF_MS + HOUR)}, "t"),
        ({"of": "bybit:perp:NOPE"}, "of"), ({"base": "NOPE"}, "base"), ({"step": "7m"}, "step"),
        ({"market": "bybit:perp:BTCUSDT"}, "base, market"),
    ):  # fmt: skip
        assert mcp.wrong("explain_number", {**oi, **wrong})["data"]["argument"] == argument, wrong
