"""GET /api/markets: shape, values, strict JSON, and its edition."""

from pathlib import Path

import duckdb
import orjson
import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MARKETS, publish
from tests.support.servers.api_server import Api, free_port, running

COIN = {"base", "perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg", "venues", "perps", "spots", "hip3", "cat"}
ENTRY = {"venue", "symbol", "quote", "price", "vol24h", "funding", "oi_usd"}


@pytest.mark.requirement("markets:shape", "markets:values")
def test_markets(api: Api) -> None:
    coins = api.get("/api/markets").json["coins"]
    assert {coin["base"] for coin in coins} == {"BTC", "ETH", "PEPE", "xyz:TSLA"}
    volumes = [coin["perp_vol24h"] for coin in coins]
    assert volumes == sorted(volumes, reverse=True)
    entries = {}
    for coin in coins:
        assert set(coin) >= COIN
        for kind, listed in (("perp", coin["perps"]), ("spot", coin["spots"])):
            for entry in listed:
                assert set(entry) >= ENTRY
                entries[entry["venue"], kind, entry["symbol"]] = (coin["base"], entry["hip3"], entry["price"])
                assert (entry["funding"] is None) == (entry["oi_usd"] is None) == (kind == "spot")
    assert entries == {market[:3]: (market[3], market[4], market[6]) for market in MARKETS}
    bitcoin = next(coin for coin in coins if coin["base"] == "BTC")
    assert bitcoin["venues"] == ["binance", "bybit", "hyperliquid"]
    assert (bitcoin["perp_vol24h"], bitcoin["spot_vol24h"], bitcoin["oi_usd"]) == (12e6, 3e6, 12e7)
    counted = {coin["base"]: (coin["markets"], coin["expected"]) for coin in coins}
    assert counted == {"BTC": (5, 5), "ETH": (3, 3), "PEPE": (2, 3), "xyz:TSLA": (1, 1)}
    assert (bitcoin["oi_1h"], bitcoin["oi_4h"], bitcoin["hip3"], bitcoin["cat"]) == (0.01, None, False, ["layer-1"])


@pytest.mark.requirement("markets:edition")
def test_markets_are_a_function_of_the_edition(api: Api) -> None:
    content = api.get("/api/markets").json
    assert (content["server_ts"], content["uptime_since"]) == (AS_OF_MS, AS_OF_MS - 3 * DAY)
    with running(api.serving, free_port()) as another:
        assert another.get("/api/markets").body == api.get("/api/markets").body
        assert another.get("/api/markets").headers["etag"] == api.get("/api/markets").headers["etag"]


@pytest.mark.requirement("markets:strict-json")
def test_a_number_that_is_none_is_null(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    path = publish(serving, 1, max_days=1)
    with duckdb.connect(str(path)) as writer:
        writer.execute("update markets set funding_avg = 'nan'::double where base = 'BTC'")
        writer.execute("update markets set oi_usd = 'inf'::double where base = 'ETH'")
        writer.execute("update series_base_1h set price = 'nan'::double where t = (select max(t) from series_base_1h)")
    with running(serving, free_port()) as api:
        coins = {coin["base"]: coin for coin in orjson.loads(api.get("/api/markets").body)["coins"]}
        assert (coins["BTC"]["funding_avg"], coins["ETH"]["oi_usd"]) == (None, None)
        assert coins["BTC"]["oi_usd"] == 12e7
        assert api.series("price", base="BTC", range="3h", step="1h")["v"][-1] is None
        assert api.get("/api/series/price?base=BTC&range=3h&step=1h&format=csv").body.endswith(b",\n")
