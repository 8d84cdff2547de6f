"""A series for a response: empty histories, and values that are unknown."""

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY
from tests.support.servers.api_server import Api
from tests.support.servers.series_calls import HOUR


@pytest.mark.requirement("series:empty")
def test_an_empty_history_is_empty_arrays(api: Api) -> None:
    got = api.series("price", base="BTC", start=1_000_000_000_000, end=1_000_003_600_000)
    assert (got["t"], got["v"]) == ([], [])
    assert api.series("price", base="XYZ:tsla", type="spot")["v"] == []
    assert (
        api.series("liquidations", base="BTC", venue="binance", start=1_000_000_000_000, end=1_000_003_600_000)["t"]
        == []
    )
    later = api.series("price", base="BTC", start=AS_OF_MS + DAY, range="1h")
    assert (later["t"], later["end"]) == ([], AS_OF_MS + DAY)


@pytest.mark.requirement("series:null")
def test_unknown_is_left_out_or_null(api: Api) -> None:
    """Market 3 has no price where (t // step + 3) % 41 == 0, and no row at all where t // step % 53 == 0."""
    start = AS_OF_MS - 50 * HOUR
    got = api.series("price", market="bybit:perp:BTCUSDT", start=start, end=AS_OF_MS, step="1h")
    missing = [
        t for t in range(start // HOUR * HOUR, AS_OF_MS, HOUR) if t // HOUR % 53 == 0 or (t // HOUR + 3) % 41 == 0
    ]
    assert missing
    assert not set(missing) & set(got["t"])
    assert None not in got["v"]
