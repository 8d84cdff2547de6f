"""The canonical form of a series request: metrics and their aliases, and what selects a series."""

import pytest

from tests.support.servers.api_server import Api
from tests.support.servers.series_calls import bad


@pytest.mark.requirement("series:alias")
@pytest.mark.parametrize(
    ("alias", "metric"), [("open-interest", "oi"), ("funding-rate", "funding"), ("liqs", "liquidations")]
)
def test_an_alias_is_its_metric(api: Api, alias: str, metric: str) -> None:
    assert api.series(alias, base="BTC", range="2h") == api.series(metric, base="BTC", range="2h")
    assert api.series(alias, base="BTC")["metric"] == metric


@pytest.mark.requirement("series:metric:unknown", "series:metric:undefined")
def test_an_unknown_metric_names_the_closest_and_those_there_are(api: Api) -> None:
    bad(api, "prise?base=BTC", "metric", "'prise'", "did you mean 'price'?")
    bad(api, "options?base=BTC", "'options'", "funding, funding-rate, klines, liqs, liquidations")


@pytest.mark.requirement("series:selector:one")
def test_exactly_one_selector(api: Api) -> None:
    bad(api, "price", "base", "market", "exactly one")
    bad(api, "price?base=BTC&market=binance:perp:BTCUSDT", "base", "market", "exactly one")


@pytest.mark.requirement("series:base:case", "series:base:unknown")
def test_coins(api: Api) -> None:
    assert api.series("price", base="pEpE")["base"] == "PEPE"
    assert api.series("price", base="xyz:tsla")["base"] == "xyz:TSLA"
    for base in ("NOPE", "BTC3L@gate"):
        answer = api.get(f"/api/series/price?base={base}")
        assert (answer.status, answer.body) == (404, b'{"error":"unknown coin"}'), base


@pytest.mark.requirement(
    "series:market", "series:market:unknown", "series:market:malformed", "series:market:contradicted"
)
def test_markets(api: Api) -> None:
    assert api.series("price", market="hyperliquid:perp:xyz:TSLA", range="3h")["v"]
    assert api.series("price", market="binance:spot:BTCUSDT", range="3h", venue="binance", type="spot")["v"]
    answer = api.get("/api/series/price?market=binance:perp:NOPEUSDT")
    assert (answer.status, answer.body) == (404, b'{"error":"unknown market"}')
    assert api.get("/api/series/price?market=okx:perp:BTC-USDT-SWAP").status == 404
    bad(api, "price?market=binanse:perp:BTCUSDT", "market", "did you mean 'binance:perp:BTCUSDT'?")
    for text in ("binance", "binance:perp", "binance:perp:", "binance:future:BTCUSDT", "::", "BINANCE:perp:BTCUSDT"):
        bad(api, f"price?market={text}", "market", "venue:perp|spot:SYMBOL")
    bad(api, "price?market=binance:perp:BTCUSDT&venue=bybit", "venue", "'bybit'", "binance")
    bad(api, "price?market=binance:perp:BTCUSDT&type=spot", "type", "'spot'", "perp")
    assert "has perp markets only" in bad(api, "oi?market=binance:spot:BTCUSDT", "market", "binance:spot:BTCUSDT")
    bad(api, "price?market=binance:perb:BTCUSDT", "did you mean 'binance:perp:BTCUSDT'?")
    for text in ("binance:future:BTCUSDT", "binance:BTCUSDT"):
        assert "did you mean" not in bad(api, f"price?market={text}", text), "nothing wrong is proposed"


@pytest.mark.requirement("series:venue:never", "series:type:fixed")
def test_a_metric_for_a_selector_that_never_has_it(api: Api) -> None:
    bad(api, "liquidations?base=BTC&venue=hyperliquid", "venue", "'hyperliquid'", "binance, bybit")
    bad(api, "liquidations?market=hyperliquid:perp:BTC", "market", "'hyperliquid:perp:BTC'", "binance, bybit")
    bad(api, "price?base=BTC&venue=okx&format=csv", "venue", "'okx'", "hyperliquid")
    bad(api, "price?base=BTC&venue=bianance", "venue", "did you mean 'binance'?")
    bad(api, "oi?base=BTC&type=spot", "type", "'spot'", "perp")
