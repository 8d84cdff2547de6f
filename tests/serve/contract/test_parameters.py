"""Parameters: what is refused, and messages that name the parameter, the value and what is allowed."""

import pytest

from tests.support.servers.api_server import Api


@pytest.mark.requirement("http:params:unknown", "http:params:repeated", "http:params:empty", "http:params:message")
def test_messages_about_parameters(api: Api) -> None:
    def error(path: str) -> str:
        answer = api.get(path)
        assert answer.status == 400, answer
        return answer.error

    assert "'rnage'" in error("/api/series/price?base=BTC&rnage=1d")
    assert "did you mean 'range'?" in error("/api/series/price?base=BTC&rnage=1d")
    for path in (
        "/api/altcoin-season?x=1",
        "/api/status?x",
        "/openapi.json?x=1",
        "/?x=1",
        "/api/altcoin-season?metric=1",
    ):
        assert "takes none" in error(path)
    assert "did you mean 'api_key'?" in error("/api/markets?apikey=x")
    assert "'metric' is not a parameter here" in error("/api/series/price?base=BTC&metric=oi")
    assert "base" in error("/api/series/price?base=BTC&base=BTC")
    for name in ("base", "market", "range", "start", "end", "step", "venue", "type", "format"):
        assert name in error(f"/api/series/price?{name}=")
        assert name in error(f"/api/series/price?{name}")
    message = error("/api/series/price?base=BTC&step=15min")
    for part in ("step", "'15min'", "1m, 5m, 15m, 1h, 4h, 1d, auto", "did you mean '15m'?"):
        assert part in message


BASE = "/api/series/price?base=BTC&"
BAD = [
    "/api/series/", "/api/series", "/api/series/price/v", "/api/series/%00?base=BTC", "/api/series/PRICE?base=BTC",
    "/api/series/price%2Fv?base=BTC", "/api/series/..%2f..%2fetc?base=BTC", "/api/series/" + "x" * 500 + "?base=BTC",
    "/api/series/%F0%9F%92%A9?base=BTC", "/api/series/%ff%fe?base=BTC", "/api//markets", "/api/markets/BTC",
    "/api/series/price", "/api/series/price?base", "/api/series/price?base=%00", "/api/series/price?base=%20",
    "/api/series/price?base=BTC%20", "/api/series/price?base=BTC+USDT", "/api/series/price?base=" + "B" * 5000,
    "/api/series/price?base=%F0%9F%9A%80", "/api/series/price?base=%ED%A0%80", "/api/series/price?base=%FF",
    "/api/series/price?base=BTC'--", "/api/series/price?base=BTC'%20OR%20'1'='1", "/api/series/price?base=%22",
    "/api/series/price?base=BTC;drop%20table%20gaps", "/api/series/price?base=binance:perp:BTCUSDT",
    "/api/series/price?base[]=BTC", "/api/series/price?base=BTC&base=ETH", "/api/series/price?BASE=BTC",
    "/api/series/price?base=null", "/api/series/price?base=../../x", "/api/series/price?base=%E2%80%AEBTC",
    "/api/series/price?market=", "/api/series/price?market=binance:perp:'", "/api/series/price?market=binance:perp:%0a",
    "/api/series/price?market=binance:perp:BTCUSDT:x", "/api/series/price?market=:perp:BTCUSDT",
    BASE + "range=0d", BASE + "range=-1d", BASE + "range=1", BASE + "range=d", BASE + "range=1.5d", BASE + "range=1D",
    BASE + "range=1e3d", BASE + "range=99999999999999999999d", BASE + "range=9999999y", BASE + "range=NaN",
    BASE + "range=%D9%A1d", BASE + "range=1d%00", BASE + "range=1%20d", BASE + "range=731d", BASE + "range=1s",
    BASE + "start=NaN&range=1d", BASE + "start=inf&range=1d", BASE + "start=-1&range=1d", BASE + "start=1e12&range=1d",
    BASE + "start=2026-01-01&range=1d", BASE + "start=0x10&range=1d", BASE + "start=%D9%A1&range=1d",
    BASE + "start=99999999999999999999&range=1d", BASE + "start=9223372036854775808&range=1d",
    BASE + "start=1_0&range=1d", BASE + "start=1.5&range=1d", BASE + "start=+1&range=1d", BASE + "start=5",
    BASE + "start=10&end=5",
    BASE + "start=5&end=5", BASE + "start=0&end=4102444800000", BASE + "end=4102444800001", BASE + "end=abc",
    BASE + "step=0", BASE + "step=2h", BASE + "step=60000", BASE + "step=AUTO", BASE + "step=1m,5m", BASE + "step=3d",
    BASE + "venue=Binance", BASE + "venue=all", BASE + "venue=binance,bybit", BASE + "venue=venue_a", BASE + "venue='",
    BASE + "type=swap", BASE + "type=PERP", BASE + "format=xml", BASE + "format=CSV", BASE + "kind=accounts",
    BASE + "api=1", BASE + "&".join(f"x{i}=1" for i in range(500)), BASE + "=1", BASE + "%FF=1", BASE + "%00=1",
    "/api/series/price?" + "a" * 4000, "/api/markets?limit=1", "/dbt/../secret.txt", "/dbt/%2e%2e/secret.txt",
    "/dbt/..%2fsecret.txt", "/dbt/%2e%2e%2fsecret.txt", "/dbt//etc/passwd", "/dbt/%00", "/dbt/nope.html",
    "/dbt/" + "x" * 300,
    "/api/bulk?from=2026-02-30", "/api/bulk?to=today", "/api/bulk?from=2026-6-1", "/api/bulk?table=markets",
    "/api/bulk?after=%00", "/api/bulk/a/b/c", "/api/bulk/%2e%2e/%2e%2e/x", "/api/bulk/a/b/" + "x" * 300,
    "/api/series/liquidations?base=BTC&venue=hyperliquid", "/api/series/funding?base=BTC&type=spot",
]  # fmt: skip


@pytest.mark.requirement("http:bad-input")
@pytest.mark.parametrize("path", BAD)
def test_bad_input_is_the_clients_error(api: Api, path: str) -> None:
    answer = api.get(path)
    assert answer.status in (400, 404), answer
    assert len(answer.error) > 5
    assert b"hidden words" not in answer.body
    assert "Traceback" not in api.log.read_text()
