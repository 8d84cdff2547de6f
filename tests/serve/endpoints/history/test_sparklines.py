"""GET /api/sparklines on a small replica: the values of the coins' series, on one grid of times."""

import pytest

from serve.endpoints.history.sparklines import METRICS, RANGES
from tests.support.servers.api_server import Api, some_address
from tests.support.servers.described import as_described

PATH = "/api/sparklines"


@pytest.mark.requirement("sparklines:values")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("range_", RANGES)
def test_values_are_those_of_the_coin_s_series(metric: str, range_: str, api: Api) -> None:
    got = as_described(api, PATH, f"{PATH}?m={metric}&range={range_}&c=btc,ETH")
    days, step = RANGES[range_]
    assert (got["metric"], got["bases"], got["range"]) == (metric, ["BTC", "ETH"], range_)
    assert got["t"] == list(range(got["start"], got["end"], got["step"]))
    assert len(got["t"]) * got["step"] in (days * 86_400_000, days * 86_400_000 + got["step"])
    for base in got["bases"]:
        asked = f"/api/series/{metric}?base={base}&step={step}&start={got['start']}&end={got['end']}"
        series = api.get(asked, X_Forwarded_For=some_address()).json
        values = dict(zip(series["t"], series["v"], strict=True))
        assert series["step"] == got["step"]
        assert any(value is not None for value in values.values())
        assert got["series"][base] == [values.get(t) for t in got["t"]]


@pytest.mark.requirement("sparklines:coins")
def test_without_coins_it_has_those_traded_most(api: Api) -> None:
    got = as_described(api, PATH)
    traded = [(coin["perp_vol24h"], coin["base"]) for coin in api.get("/api/markets").json["coins"] if not coin["hip3"]]
    known = [base for volume, base in sorted(traded, key=lambda one: (-(one[0] or 0), one[1])) if volume is not None]
    assert got["bases"] == known[:50]
    assert set(got["series"]) == set(got["bases"])


@pytest.mark.requirement("sparklines:coins")
@pytest.mark.parametrize("coins", ["", "NOPE", "BTC,,ETH", ",".join(f"A{n}" for n in range(61))])
def test_other_coins_are_refused(api: Api, coins: str) -> None:
    answer = api.get(f"{PATH}?c={coins}", X_Forwarded_For=some_address())
    assert (answer.status, answer.error[:2]) == (400, "c:")
    assert api.get(f"{PATH}?c=ETH,BTC,eth", X_Forwarded_For=some_address()).json["bases"] == ["ETH", "BTC"]
