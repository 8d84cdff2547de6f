"""GET /api/explain on a small replica without a landing: the number, its markets, its parts."""

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/explain"
HOUR, MINUTE = 3_600_000, 60_000
T = AS_OF_MS - AS_OF_MS % HOUR - 2 * HOUR
OI = f"{PATH}?metric=oi&base=BTC&step=1h&t={T + 5 * MINUTE}"


@pytest.mark.requirement("explain:shape")
def test_a_bucket_has_its_number_markets_and_the_parts_of_one(api: Api) -> None:
    got = as_described(api, PATH, OI)
    named = {name: got[name] for name in ("metric", "base", "market", "venue", "type", "kind", "step", "t", "end")}
    assert named == {
        "metric": "oi", "base": "BTC", "market": None, "venue": None, "type": "perp", "kind": None, "step": HOUR,
        "t": T, "end": T + HOUR,
    }  # fmt: skip
    markets = [one["market_id"] for one in got["markets"]]
    assert markets == sorted(markets)
    assert set(markets) == {
        "binance:perp:BTCUSDT", "binance:perp:BTCUSDC", "bybit:perp:BTCUSDT", "hyperliquid:perp:BTC",
    }  # fmt: skip
    assert (got["total"], got["next"]) == (4, None)
    shown = got["evidence"]
    assert shown["market_id"] == "hyperliquid:perp:BTC"  # the greatest
    assert shown["step"] == MINUTE
    assert {part["t"] for part in shown["parts"]} <= set(range(T, T + HOUR, MINUTE))
    assert shown["t"] == shown["parts"][-1]["t"]


@pytest.mark.requirement("explain:values")
@pytest.mark.parametrize("metric", ["oi", "volume", "liquidations", "taker-flow"])
def test_the_number_is_the_series_number_and_the_sum_of_the_markets(api: Api, metric: str) -> None:
    got = api.get(f"{PATH}?metric={metric}&base=BTC&step=1h&t={T}").json
    series = api.series(metric, base="BTC", step="1h", start=T, end=T + HOUR)
    assert got["values"] == {name: series[name][0] for name in series["fields"]}
    assert got["sums"] == pytest.approx(got["values"])
    for name, value in got["sums"].items():
        assert value == pytest.approx(sum(one["values"][name] or 0 for one in got["markets"]))


@pytest.mark.requirement("explain:values")
@pytest.mark.parametrize(
    "query",
    [
        "metric=price&base=BTC", "metric=funding&base=BTC&venue=binance", "metric=cvd&base=ETH",
        "metric=basis&base=BTC", "metric=spot-perp-volume", "metric=long-short&base=BTC&kind=top_acct",
        "metric=net-positioning&base=BTC", "metric=top-vs-crowd&base=BTC", "metric=whale-vs-retail&base=BTC",
        "metric=ob-depth&base=BTC", "metric=bid-ask-ratio&base=BTC", "metric=price&market=binance:spot:BTCUSDT",
        "metric=long-short&market=binance:perp:BTCUSDT", "metric=basis&market=binance:perp:BTCUSDT",
        "metric=price&base=ETH&type=all",
    ],
)  # fmt: skip
def test_every_metric_and_selection_has_its_markets(api: Api, query: str) -> None:
    got = as_described(api, PATH, f"{PATH}?{query}&step=1h&t={T}")
    metric, _, rest = query.removeprefix("metric=").partition("&")
    pairs = [pair.split("=") for pair in rest.split("&") if pair]
    series = api.series(metric, **dict(pairs), step="1h", start=T, end=T + HOUR)
    assert got["values"] == {name: series[name][0] for name in series["fields"]}
    assert got["total"] == len(got["markets"]) > 0
    markets = dict(pairs).get("market")
    assert markets is None or [one["market_id"] for one in got["markets"]] == [markets]


@pytest.mark.requirement("explain:shape")
def test_pages_markets_and_minutes_are_chosen(api: Api) -> None:
    one = api.get(f"{OI}&of=bybit:perp:BTCUSDT&minute={T + 7 * MINUTE}").json["evidence"]
    assert (one["market_id"], one["t"]) == ("bybit:perp:BTCUSDT", T + 7 * MINUTE)
    after = api.get(f"{OI}&after=binance:perp:BTCUSDT").json
    assert [one["market_id"] for one in after["markets"]] == ["bybit:perp:BTCUSDT", "hyperliquid:perp:BTC"]
    everything = api.get(f"{PATH}?metric=spot-perp-volume&step=1h&t={T}&limit=10").json
    assert everything["next"] == everything["markets"][9]["market_id"] if everything["total"] > 10 else True
    # The step of the series that is asked for in the same way.
    assert api.get(f"{PATH}?metric=oi&base=BTC&t={T}&range=30d").json["step"] == 1_800_000 * 2
    assert api.get(f"{PATH}?metric=oi&base=BTC&t={T}").json["step"] == MINUTE


@pytest.mark.requirement("explain:landing")
def test_without_the_landing_loads_and_the_reason_are_named(api: Api) -> None:
    shown = api.get(f"{OI}&of=binance:perp:BTCUSDT").json["evidence"]
    assert "this server does not read the landing" in shown["reason"]
    [response] = shown["responses"]
    assert (response["load"], response["file"]) == ("1.5", "responses/2026-06-15/1.5.x.parquet")
    assert (response["venue"], response["endpoint"], response["tick_ms"]) == ("binance", "open_interest", shown["t"])
    assert response["read_with"].startswith("duckdb ")
    missing = api.get(f"{OI}&of=hyperliquid:perp:BTC").json["evidence"]
    assert missing["responses"] == []
    assert "hyperliquid has no view of perp_tickers, open_interest, funding, marks in this edition" in missing["reason"]


@pytest.mark.requirement("explain:bad")
@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("metric=oi&base=BTC", 400, "t: a value is required"),
        (f"metric=io&base=BTC&t={T}", 400, "io"),
        (f"metric=oi&t={T}", 400, "exactly one of them"),
        (f"metric=oi&base=NONE&t={T}", 404, "unknown coin"),
        (f"metric=oi&base=BTC&t={AS_OF_MS}", 400, "before the edition's as_of"),
        (f"metric=oi&base=BTC&t={T}&start={T + HOUR}&end={T + 2 * HOUR}", 400, "it must be in the range"),
        (f"metric=oi&base=BTC&t={T}&step=1h&minute={T - 1}", 400, "it must be in the bucket"),
        (f"metric=oi&base=BTC&t={T}&of=binance:perp:NONE", 404, "unknown market"),
        (f"metric=oi&base=BTC&t={T}&limit=7", 400, "use one of 10, 50, 200"),
    ],
)
def test_what_does_not_fit_is_refused(api: Api, query: str, status: int, said: str) -> None:
    answer = api.get(f"{PATH}?{query}")
    assert answer.status == status
    assert said in answer.json["error"]
