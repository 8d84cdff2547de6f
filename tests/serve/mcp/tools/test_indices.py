"""market_indices: the values of the two endpoints, and their common history."""

from datetime import UTC, datetime

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY
from tests.support.servers.mcp_calls import Mcp, near


@pytest.mark.requirement("mcp:indices")
@pytest.mark.parametrize("days", [1, 30, 366])
def test_both_indices_have_the_values_of_their_endpoints(mcp: Mcp, days: int) -> None:
    got = mcp.call("market_indices", {"days": days})
    season = mcp.api.get("/api/altcoin-season").json
    feared = mcp.api.get("/api/derivatives-fear-greed").json
    own = got["data"]["altcoin_season"]
    for name in ("zone", "date", "provisional", "n_coins", "n_beat_btc", "days_alt_season_1y", "last_cross_alt_season"):
        assert own[name] == season[name], name
    assert all(near(own[name], season[name]) for name in ("value", "value_30d_ago", "btc_return", "high_1y"))
    assert [(one["base"], one["vs_btc"]) for one in own["best"]] == [
        ("SOL", 0.5), ("ETH", 0.25), ("XRP", 0.125), ("ADA", -0.25),
    ]  # fmt: skip
    assert own["worst"] == []
    assert got["data"]["fear_greed"] == {"today": feared["today"], "newest_completed": feared["days"][-1]}
    history, first = got["data"]["history"], day_of(AS_OF_MS // DAY * DAY - days * DAY)
    seasons = {day_of(t): value for t, value in season["history"] if day_of(t) >= first}
    fears = {day["date"]: day["value"] for day in feared["days"] if day["date"] >= first}
    assert history["date"] == sorted({*seasons, *fears})
    shown = zip(history["date"], history["altcoin_season"], strict=True)
    assert all(near(value, seasons.get(date)) for date, value in shown)
    assert history["fear_greed"] == [fears.get(date) for date in history["date"]]


@pytest.mark.requirement("mcp:indices")
def test_the_days_of_history_are_bounded(mcp: Mcp) -> None:
    for days in (0, 367, 1.5, "30", True):
        assert mcp.wrong("market_indices", {"days": days})["data"]["argument"] == "days"


def day_of(t: int) -> str:
    return datetime.fromtimestamp(t / 1000, UTC).strftime("%Y-%m-%d")
