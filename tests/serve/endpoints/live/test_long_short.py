"""GET /api/long-short on a small replica: one entry a coin, null where a venue publishes nothing."""

import pytest

from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described


@pytest.mark.requirement("long-short:values")
def test_ratios_and_their_changes(api: Api) -> None:
    [coin] = as_described(api, "/api/long-short")["coins"]
    assert (coin["base"], coin["binance_top_pos"], coin["bybit_accounts"]) == ("BTC", None, None)
    ratio = coin["binance_accounts"]
    assert [ratio[name] for name in ("symbol", "long", "chg_1h", "chg_4h", "chg_24h")] == [
        "BTCUSDT", 0.6, 0.01, -0.02, None,
    ]  # fmt: skip
