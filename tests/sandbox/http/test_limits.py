"""Rate limits per client address, as the venues answer them."""

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import sandbox

NOW = ANCHOR_MS + 37_500  # half a minute past a minute boundary


MINUTE = 60_000


FAPI, API = "/fapi.binance.com/fapi/v1", "/api.binance.com/api/v3"


BYBIT = "/api.bybit.com/v5/market"


async def test_limits_are_those_of_the_venues() -> None:
    async with sandbox(now_ms=NOW // MINUTE * MINUTE + 10_000) as client:
        client.app.ctx.sandbox.limits.real_ms = lambda: 0  # no real minute begins while the test counts
        for n in range(1, 61):
            got = await client.get(f"{FAPI}/ticker/24hr")
            assert (got.status, got.headers["X-MBX-USED-WEIGHT-1M"]) == (200, str(40 * n))
        got = await client.get(f"{FAPI}/openInterest", symbol="BTCUSDT")
        assert (got.status, got.json["code"], got.headers["Retry-After"]) == (429, -1003, "50")
        for _ in range(21):
            got = await client.get(f"{FAPI}/openInterest", symbol="BTCUSDT")
        assert got.status == 418
        assert int(got.headers["Retry-After"]) == 120
        assert (await client.get(f"{API}/ticker/24hr", symbol="BTCUSDT")).status == 200
        await client.clock(NOW + 3 * MINUTE)
        assert (await client.get(f"{FAPI}/openInterest", symbol="BTCUSDT")).status == 200
        for _ in range(60):
            assert (await client.info({"type": "perpDexs"})).status == 200
        assert (await client.info({"type": "perpDexs"})).status == 429
        for _ in range(600):
            assert (await client.get(f"{BYBIT}/tickers", category="none")).status == 200
        got = await client.get(f"{BYBIT}/tickers", category="none")
        assert (got.status, got.json["retCode"]) == (403, 10006)
