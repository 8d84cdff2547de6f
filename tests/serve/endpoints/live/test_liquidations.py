"""GET /api/liquidations on a small replica: totals, the largest, the newest, and by hour."""

import pytest

from tests.support.replica.replica import AS_OF_MS, MINUTE
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described


@pytest.mark.requirement("liquidations:values")
def test_the_snapshot_is_that_of_all_coins(api: Api) -> None:
    got = as_described(api, "/api/liquidations")
    assert got["totals"]["1h"] == {"long": 0.0, "short": 7.0, "count": 1}
    assert got["by_venue"] == {"binance": {"long": 5.0, "short": 7.0, "count": 2}}
    assert [coin["base"] for coin in got["coins"]] == ["BTC"]
    [event] = got["recent"]
    assert (event["ts"], event["side"], event["usd"]) == (AS_OF_MS - MINUTE, "long", 5.0)
    assert got["server_ts"] == AS_OF_MS
    assert any(None in hour.values() for hour in got["timeline"]), "an hour that was not recorded is unknown, not 0"
