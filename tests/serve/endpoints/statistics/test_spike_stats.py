"""GET /api/spike-stats and of a coin: order, limits, states."""

import pytest

from tests.support.replica.replica import AS_OF_MS, LAST
from tests.support.servers.api_server import Api

SPIKES = "/api/spike-stats"


@pytest.mark.requirement("spike-stats:shape", "spike-stats:coins")
def test_spike_stats(api: Api) -> None:
    content = api.get(SPIKES).json
    assert [coin["base"] for coin in content["coins"]] == ["BTC", "ADA", "SOL", "FEW"]
    assert content["coins"][0] == {"base": "BTC", "n": 90, "hits": 60, "hit_rate": 60 / 90, "median": 0.006}
    # Coins with fewer than 30 outcomes are neither best nor worst.
    assert [coin["base"] for coin in content["best"]] == ["BTC", "SOL", "ADA"]
    assert [coin["base"] for coin in content["worst"]] == ["ADA", "SOL", "BTC"]
    assert (content["n_coins"], content["min_coin_n"], content["horizons_min"]) == (4, 30, [5, 15, 60])
    assert [row["horizon_min"] for row in content["overall"]] == [5, 15, 60]
    assert content["overall"][0] | {"q1": 0} == {
        "horizon_min": 5, "n": 190, "hits": 100, "hit_rate": 100 / 190, "base_rate": 0.5, "q1": 0, "median": 0.01,
        "q3": 0.01, "mean": 0.0, "first_ms": 1, "last_ms": 2, "n_independent": 95, "low_n": False,
    }  # fmt: skip
    found = ("window", "sample", "mixed", "low_n", "measured", "pending", "unavailable", "as_of")
    assert [content[name] for name in found] == ["30d", 200, True, False, 570, 3, 10, AS_OF_MS - 1000]
    assert set(content["by"]) == {"venues", "directions"}
    empty = api.get(f"{SPIKES}?window=7d")
    assert (empty.status, empty.json["state"]) == (503, "unavailable")


@pytest.mark.requirement("spike-stats:coin", "spike-stats:unknown", "spike-stats:recent")
def test_spike_stats_of_a_coin(api: Api) -> None:
    assert api.get(f"{SPIKES}/btc?window=all").json["base"] == "BTC"
    content = api.get(f"{SPIKES}/ADA?window=all").json
    assert (content["base"], content["window"], content["sample"], content["low_n"]) == ("ADA", "all", 60, False)
    assert not {"coins", "best", "worst"} & set(content)
    recent = content["recent"]
    assert [spike["ts"] for spike in recent] == [LAST - n * 3_600_000 for n in range(20)]
    assert recent[0] == {
        "id": 0, "ts": LAST, "venue": "binance", "symbol": "ADAUSDT", "hip3": False, "dir": "buy", "sig": 7.5,
        "volume_usd": 1e6, "price": 60_000.0,
        "outcomes": [{"horizon_min": h, "state": "pending", "reason": None, "return": None, "directional_return": None}
                     for h in (5, 15, 60)],
    }  # fmt: skip
    assert [outcome["state"] for outcome in recent[3]["outcomes"]] == ["unavailable"] * 3
    assert recent[3]["outcomes"][0]["reason"] == "missing_outcome"
    assert recent[1]["outcomes"][2] == {
        "horizon_min": 60, "state": "observed", "reason": None, "return": 0.01, "directional_return": -0.01,
    }  # fmt: skip
    # Spikes of long ago: nothing in the window, but a coin with a recorded spike.
    old = api.get(f"{SPIKES}/OLD").json
    assert (old["sample"], old["low_n"], old["recent"]) == (0, True, [])
    assert api.get(f"{SPIKES}/NOPE").status == 404
    assert "NOPE" in api.get(f"{SPIKES}/NOPE").error
    uncounted = api.get(f"{SPIKES}/ETH")
    assert (uncounted.status, uncounted.json["state"]) == (503, "loading")
