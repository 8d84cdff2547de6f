"""GET /api/coins/overlay on a small replica: each coin begins at 100, in its own field, from a common bucket on."""

import pytest

from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/coins/overlay"


@pytest.mark.requirement("overlay:values")
def test_each_coin_is_100_where_all_begin(api: Api) -> None:
    got = as_described(api, PATH, f"{PATH}?c=btc,ETH,PEPE")
    assert (got["bases"], got["state"], got["unit"]) == (["BTC", "ETH", "PEPE"], "ok", "index")
    assert got["t"] == sorted(set(got["t"]))
    for base in got["bases"]:
        values = got[got["field_map"][base]]
        assert len(values) == len(got["t"]) > 100
        assert values[0] == 100
    assert got["start"] <= got["t"][0] < got["t"][-1] < got["end"]


@pytest.mark.requirement("overlay:input")
def test_order_and_repetitions_of_coins_make_no_difference(api: Api) -> None:
    assert as_described(api, PATH, f"{PATH}?c=ETH,btc,eth")["bases"] == ["BTC", "ETH"]
    assert api.get(f"{PATH}?c=ETH,BTC").body == api.get(f"{PATH}?c=eth,BTC,ETH").body


@pytest.mark.requirement("overlay:input")
@pytest.mark.parametrize("coins", ["", "BTC", "BTC,btc", "BTC,,ETH", "BTC,NOPE", "BTC,xyz:TSLA", "A,B,C,D,E,F"])
def test_coins_that_cannot_be_compared_are_refused(api: Api, coins: str) -> None:
    answer = api.get(f"{PATH}?c={coins}")
    assert (answer.status, answer.error[:2]) == (400, "c:")
