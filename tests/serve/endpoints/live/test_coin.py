"""GET /api/coin/{base} on a small replica: what the snapshots have of one coin."""

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/coin/{base}"
PRICES = {"price": 0, "px_1h": 1, "px_4h": 4, "px_24h": 24}


@pytest.mark.requirement("coin:values")
def test_a_coin_is_made_of_the_snapshots(api: Api) -> None:
    got = as_described(api, PATH, "/api/coin/btc")
    listed = next(coin for coin in api.get("/api/markets").json["coins"] if coin["base"] == "BTC")
    figures = {name: value for name, value in got["market"].items() if name not in PRICES}
    assert figures == listed
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


@pytest.mark.requirement("coin:values")
@pytest.mark.parametrize("base", ["BTC", "ETH", "PEPE"])
def test_the_price_and_its_changes_are_those_of_the_series(base: str, api: Api) -> None:
    market = as_described(api, PATH, f"/api/coin/{base}")["market"]
    span = f"start={AS_OF_MS - 24 * 3_600_000 - 480_000}&end={AS_OF_MS}&step=1m"
    series = [api.get(f"/api/series/price?base={base}&type={kind}&{span}").json for kind in ("perp", "spot")]
    prices = next(({t: v for t, v in zip(one["t"], one["v"], strict=True) if v} for one in series if one["t"]), {})
    newest = max(prices)
    assert AS_OF_MS - newest < 300_000
    assert market["price"] == prices[newest]
    for name, hours in list(PRICES.items())[1:]:
        then = newest - hours * 3_600_000
        known = [prices[t] for t in range(then, then - 300_001, -60_000) if t in prices]
        assert market[name] == (pytest.approx(market["price"] / known[0] - 1) if known else None), name
    assert market["px_1h"] is not None or base != "BTC"
