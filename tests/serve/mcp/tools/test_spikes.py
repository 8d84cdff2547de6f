"""spike_feed and spike_outcomes: pages, cursors, filters, and the states of outcomes."""

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.mcp_calls import Mcp, iso, warned

FIRST = 9007199254700000  # the newest spike's id; the others count up


@pytest.mark.requirement("mcp:feed")
def test_the_feed_pages_through_its_window_newest_first(mcp: Mcp) -> None:
    with duckdb.connect(str(mcp.api.serving / "replica_a.duckdb"), read_only=True) as con:
        every = con.execute(
            "select id, ts, market_id, base, dir, sig from spikes where ts >= ? and ts < ? order by ts desc, id desc",
            [AS_OF_MS - 12 * 3_600_000, AS_OF_MS],
        ).fetchall()

    def pages(**filters: Any) -> list[Any]:
        found: list[Any] = []
        more: dict[str, Any] = {"range": "12h", **filters}
        while True:
            data = mcp.call("spike_feed", {**more, "limit": 37})["data"]
            assert data["summary"]["spikes"] == len(data["spikes"]) <= 37
            found += data["spikes"]
            if data["next_cursor"] is None:
                return found
            assert len(data["spikes"]) == 37
            # A cursor alone knows its window and filters; the filters may be repeated.
            more = {"cursor": data["next_cursor"], **(filters if len(found) % 2 else {})}

    assert [(one["id"], one["ts"], one["market"], one["base"], one["dir"]) for one in pages()] == [
        row[:5] for row in every
    ]
    kept: tuple[tuple[dict[str, Any], Callable[[Any], bool]], ...] = (
        ({"base": "btc"}, lambda row: row[3] == "BTC"),
        ({"venue": "bybit"}, lambda row: row[2].startswith("bybit:")),
        ({"side": "sell"}, lambda row: row[4] == "sell"),
        ({"min_sig": 8}, lambda row: row[5] >= 8),
        ({"base": "ETH", "side": "buy", "min_sig": 7.5}, lambda row: row[3:5] == ("ETH", "buy") and row[5] >= 7.5),
    )
    for filters, keep in kept:
        assert [one["id"] for one in pages(**filters)] == [row[0] for row in every if keep(row)], filters
    hour = mcp.call("spike_feed", {"limit": 200})
    assert hour["coverage"]["requested"] == {"start": AS_OF_MS - 3_600_000, "end": AS_OF_MS}
    assert [one["id"] for one in hour["data"]["spikes"]] == [row[0] for row in every if row[1] >= AS_OF_MS - 3_600_000]


@pytest.mark.requirement("mcp:feed")
def test_the_feeds_window_and_cursor_are_checked(mcp: Mcp) -> None:
    assert "at most 24h" in mcp.wrong("spike_feed", {"range": "25h"})["message"]
    assert "at most 24h" in mcp.wrong("spike_feed", {"start": iso(AS_OF_MS - 3 * DAY), "end": iso(AS_OF_MS)})["message"]
    assert mcp.wrong("spike_feed", {"limit": 201})["data"]["nearest"] == 200
    cursor = mcp.call("spike_feed", {"limit": 1, "side": "sell"})["data"]["next_cursor"]
    assert mcp.wrong("spike_feed", {"cursor": cursor, "side": "buy"})["data"]["argument"] == "side"
    assert mcp.wrong("spike_feed", {"cursor": cursor, "range": "2h"})["data"]["argument"] == "range"
    for broken in (cursor[:-3], cursor[3:], "x", "AAAA", "%%%", "W10", "e30", "é"):
        assert mcp.wrong("spike_feed", {"cursor": broken})["data"]["argument"] == "cursor"


@pytest.mark.requirement("mcp:outcomes")
def test_outcomes_are_pending_observed_or_unavailable(mcp: Mcp) -> None:
    asked = [FIRST + 200, FIRST, FIRST + 40, FIRST + 104, FIRST + 200, 77]
    got = mcp.call("spike_outcomes", {"ids": asked})
    found = {one["id"]: one for one in got["data"]["outcomes"]}
    assert list(found) == [FIRST + 200, FIRST, FIRST + 40, FIRST + 104]
    assert (got["data"]["unknown_ids"], "unknown_id" in warned(got)) == ([77], True)

    def states(number: int) -> list[tuple[str, Any, Any, Any]]:
        spike = found[FIRST + number]
        assert [one["due_ms"] - spike["ts"] for one in spike["returns"]] == [6 * MINUTE, 16 * MINUTE, 61 * MINUTE]
        return [(one["state"], one["reason"], one["return"], one["directional_return"]) for one in spike["returns"]]

    # Of spike n: n % 3 says the direction (buy, sell, unknown), n % 5 == 4 that the deciding bars never came.
    assert states(200) == [("observed", None, value, None) for value in (0.005, 0.015, 0.06)]
    assert states(0) == [("pending", None, None, None)] * 3
    assert states(40) == [
        ("observed", None, 0.005, -0.005), ("observed", None, 0.015, -0.015), ("pending", None, None, None),
    ]  # fmt: skip
    assert states(104) == [("unavailable", "missing_outcome", None, None)] * 2 + [("pending", None, None, None)]
    assert got["data"]["summary"] == {"observed": 5, "pending": 5, "unavailable": 2}
    feed = mcp.call("spike_feed", {"range": "4h", "limit": 200})["data"]["spikes"]
    mine = {name: value for name, value in found[FIRST + 40].items() if name != "returns"}
    assert mine in feed
    empty = mcp.call("spike_outcomes", {"ids": [77]})
    assert (empty["status"], empty["data"]["outcomes"]) == ("ok", [])
    final = mcp.call("spike_outcomes", {"ids": [FIRST + 1000]})
    assert (final["freshness"], final["data"]["summary"]["pending"]) == ("historical", 0)


@pytest.mark.requirement("mcp:outcomes")
@pytest.mark.parametrize("ids", [[], list(range(51)), ["5"], [1.5], [True], [-1], [2**53], "5", {}, [None], [[5]]])
def test_ids_are_checked(mcp: Mcp, ids: Any) -> None:
    assert "1 to 50" in mcp.wrong("spike_outcomes", {"ids": ids})["data"]["allowed"]
