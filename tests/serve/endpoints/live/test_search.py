"""GET /api/search on a small replica: coins by name and by the exchanges' symbols, markets and metrics."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.servers.api_server import Api, some_address
from tests.support.servers.described import as_described


def search(api: Api, text: str) -> dict[str, Any]:
    found: dict[str, Any] = as_described(
        api, "/api/search", "/api/search?q=" + "".join(f"%{byte:02x}" for byte in text.encode())
    )
    return found


@pytest.mark.requirement("search:coins")
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("btc", ("BTC", "is", "BTC")), ("pep", ("PEPE", "begins", "PEPE")), ("kpepe", ("PEPE", "symbol", "kPEPE")),
        ("1000PEPE", ("PEPE", "symbol", "1000PEPEUSDT")), ("epe", ("PEPE", "holds", "PEPE")),
        ("PEPPE", ("PEPE", "similar", "PEPE")), (" btc ", ("BTC", "is", "BTC")),
    ],
)  # fmt: skip
def test_a_coin_is_found_by_each_of_its_names(api: Api, text: str, first: tuple[str, str, str]) -> None:
    coins = search(api, text)["coins"]
    assert (coins[0]["base"], coins[0]["how"], coins[0]["matched"]) == first
    volumes = {row["base"]: row["perp_vol24h"] for row in api.get("/api/markets").json["coins"]}
    assert all(coin["perp_vol24h"] == volumes[coin["base"]] for coin in coins)
    assert len({coin["base"] for coin in coins}) == len(coins)


@pytest.mark.requirement("search:markets")
def test_markets_and_metrics_are_found(api: Api) -> None:
    got = search(api, "btc")
    assert {"binance:perp:BTCUSDT", "bybit:perp:BTCUSDT"} <= {market["market"] for market in got["markets"]}
    assert all(market["market"].split(":")[2].startswith("BTC") for market in got["markets"])
    volumes = [market["vol24h"] or 0 for market in got["markets"]]
    assert volumes == sorted(volumes, reverse=True)
    assert {metric["metric"] for metric in search(api, "LIQS")["metrics"]} == {"liquidations"}
    assert {metric["metric"] for metric in search(api, "open i")["metrics"]} >= {"oi"}
    assert search(api, "no such thing at all") | {"q": "", "source": ""} == {
        "q": "", "coins": [], "markets": [], "metrics": [], "source": "",
    }  # fmt: skip


@pytest.mark.requirement("search:coins")
@given(text=st.text(min_size=1, max_size=64))
def test_any_text_is_answered_or_refused(api: Api, text: str) -> None:
    path = "/api/search?q=" + "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))
    answer = api.get(path, X_Forwarded_For=some_address())
    assert answer.status in (200, 400)
    if answer.status == 200:
        assert all(len(answer.json[name]) <= 10 for name in ("coins", "markets", "metrics"))
