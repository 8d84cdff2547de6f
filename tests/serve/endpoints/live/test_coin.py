"""GET /api/coin/{base} on a small replica: what the snapshots have of one coin."""

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/coin/{base}"


@pytest.mark.requirement("coin:values")
def test_a_coin_is_made_of_the_snapshots(api: Api) -> None:
    got = as_described(api, PATH, "/api/coin/btc")
    listed = next(coin for coin in api.get("/api/markets").json["coins"] if coin["base"] == "BTC")
    assert got["market"].items() <= listed.items()
    [ratios] = api.get("/api/long-short").json["coins"]
    assert got["long_short"] == {name: value for name, value in ratios.items() if name != "base"}
    assert got["liquidations"]["totals"]["24h"] == {"long": 5.0, "short": 7.0, "count": 2}
    assert got["server_ts"] == AS_OF_MS
    newest = [alert["ts"] for alert in got["alerts"]]
    assert newest == sorted(newest, reverse=True) != []


@pytest.mark.requirement("coin:values")
def test_a_coin_without_ratios_and_liquidations_has_nulls(api: Api) -> None:
    got = as_described(api, PATH, "/api/coin/PEPE")
    assert set(got["long_short"].values()) == {None}
    assert got["market"]["base"] == "PEPE"


@pytest.mark.requirement("coin:unknown")
def test_only_listed_coins_are_known(api: Api) -> None:
    for base in ("NOPE", "BTCUSDT", "BTC3L@gate"):
        answer = api.get(f"/api/coin/{base}")
        assert (answer.status, answer.json) == (404, {"error": "unknown coin"}), base
