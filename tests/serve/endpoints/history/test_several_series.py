"""GET /api/series on a small replica: the values and gaps of each metric's own request, on one time axis."""

from typing import Any

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.api_server import Api, some_address
from tests.support.servers.described import as_described

PATH = "/api/series"
RANGE = f"start={AS_OF_MS - 2 * DAY}&end={AS_OF_MS}"


def asked(api: Api, path: str) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(path, X_Forwarded_For=some_address()).json
    return answer


@pytest.mark.requirement("series:several")
@pytest.mark.parametrize(
    ("names", "selected"),
    [
        ("price,oi,funding,liquidations,cvd", f"base=btc&{RANGE}&step=5m"),
        ("price,volume,taker-flow", f"base=ETH&type=all&{RANGE}&step=1h&coverage=1"),
        ("liqs,basis,oi", f"market=binance:perp:BTCUSDT&{RANGE}&step=1h"),
        ("funding,net-positioning,long-short", f"base=BTC&venue=binance&{RANGE}&step=4h&coverage=1"),
        ("spot-perp-volume", f"{RANGE}&step=1h"),
        ("price,oi,funding,liquidations", f"base=BTC&{RANGE}&step=15m&as_known_at={AS_OF_MS - DAY}"),
        ("price,volume,candles", f"market=binance:perp:BTCUSDT&{RANGE}&step=1h&as_known_at={AS_OF_MS - 5 * MINUTE}"),
    ],
)
def test_each_metric_has_its_own_values_and_gaps(api: Api, names: str, selected: str) -> None:
    got = as_described(api, PATH, f"{PATH}?m={names}&{selected}")
    assert got["t"] == sorted(set(got["t"]))
    with_values = set()
    for name in names.split(","):
        own = asked(api, f"{PATH}/{name}?{selected}")
        series = got["series"][own["metric"]]
        assert all(got[shared] == own[shared] for shared in ("base", "market", "venue", "step", "start", "end"))
        assert all(series[field] == own[field] for field in ("type", "source", "fields", "gaps"))
        assert series.get("kind") == own.get("kind")
        arrays = [*own["fields"], *(["n", "expected", "origin"] if "coverage" in selected else [])]
        assert set(series) - {"unit", "type", "kind", "source", "fields", "gaps"} == set(arrays)
        at = {t: n for n, t in enumerate(own["t"])}
        with_values |= set(at)
        for field in arrays:
            assert series[field] == [own[field][at[t]] if t in at else None for t in got["t"]]
    assert set(got["t"]) == with_values
    assert len(got["series"]) == len(names.split(","))


@pytest.mark.requirement("series:several:step")
def test_the_step_is_the_coarsest_of_them(api: Api) -> None:
    """Venues publish ratios in buckets of 5 minutes."""
    assert asked(api, f"{PATH}?m=price&base=BTC&range=6h")["step"] == MINUTE
    both = asked(api, f"{PATH}?m=price,long-short&base=BTC&range=6h")
    assert both["step"] == 5 * MINUTE
    assert all(any(value is not None for value in series["v"]) for series in both["series"].values())
    assert both["series"]["price"]["source"].startswith("series_5m@")
    old = asked(api, f"{PATH}?m=price,funding&base=BTC&range=90d")
    alone = {name: asked(api, f"{PATH}/{name}?base=BTC&range=90d") for name in ("price", "funding")}
    assert old["step"] == max(series["step"] for series in alone.values())
    assert old.get("coarsened") == next((one["coarsened"] for one in alone.values() if "coarsened" in one), None)


@pytest.mark.requirement("series:several:refused")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("base=BTC", "m: a value is required"),
        ("m=&base=BTC", "give it a value"),
        ("m=price,,oi&base=BTC", "1 to 6 distinct names of metrics"),
        ("m=price,oi,funding,volume,cvd,basis,liquidations&base=BTC", "1 to 6 distinct names of metrics"),
        ("m=price,prise&base=BTC", "did you mean 'price'"),
        ("m=price,oi&base=BTC&type=spot", "type"),
        ("m=price,spot-perp-volume&base=BTC", "spot-perp-volume is of all coins together"),
        ("m=price,ob-depth&market=binance:perp:BTCUSDT", "ob-depth takes base only"),
        ("m=price&base=BTC&kind=accounts", "kind"),
    ],
)
def test_what_one_of_them_refuses_is_refused(api: Api, query: str, said: str) -> None:
    answer = api.get(f"{PATH}?{query}", X_Forwarded_For=some_address())
    assert answer.status == 400
    assert said in answer.json["error"]


@pytest.mark.requirement("series:several")
def test_names_and_aliases_of_one_metric_are_one(api: Api) -> None:
    got = asked(api, f"{PATH}?m=liqs,liquidations,price&base=BTC&range=1d&step=1h")
    assert [*got["series"]] == ["liquidations", "price"]
