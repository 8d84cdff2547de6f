"""The history tools: the series of the JSON API, in about as many points as a model can read."""

import pytest

from serve.http.keys import create_key
from tests.support.replica.replica import AS_OF_MS, CATALOG, DAY
from tests.support.servers.api_server import until
from tests.support.servers.mcp_calls import Mcp, iso, ms, near, warned

HISTORIES = {"funding_history": "funding", "oi_history": "oi", "liquidations_history": "liquidations"}


@pytest.mark.requirement("mcp:history", "mcp:digits", "mcp:summary")
@pytest.mark.parametrize("tool", HISTORIES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"base": "BTC"},
        {"base": "eth", "range": "6h", "step": "5m"},
        {"base": "BTC", "venue": "bybit", "range": "30d"},
        {"base": "BTC", "type": "all", "range": "2d", "step": "1h"},
        {"market": "binance:perp:1000PEPEUSDT", "range": "90d"},
        {"base": "BTC", "start": iso(AS_OF_MS - 3 * DAY), "end": iso(AS_OF_MS - 2 * DAY), "step": "15m"},
        {"base": "BTC", "start": iso(AS_OF_MS - 3 * DAY), "range": "1d", "step": "1d"},
        {"base": "BTC", "range": "2y", "step": "1d"},
    ],
)
def test_a_history_is_the_series_of_the_json_api(mcp: Mcp, tool: str, arguments: dict[str, str]) -> None:
    got = mcp.call(tool, arguments)
    data, asked = got["data"], got["coverage"]["requested"]
    rest = {**arguments, "step": data["step"]}
    rest |= {name: str(ms(rest[name])) for name in ("start", "end") if name in rest}
    series = mcp.api.series(HISTORIES[tool], **rest)
    fields = series["fields"]
    assert (data["metric"], data["series"]["t"], asked) == (
        series["metric"], series["t"], {"start": series["start"], "end": series["end"]},
    )  # fmt: skip
    assert set(data["series"]) == set(data["summary"]) | {"t"} == {*fields, "t"}
    assert got["provenance"]["source"] == series["source"]
    assert got["provenance"]["method"] == " ".join(CATALOG[series["metric"]]["formula"].split())
    width = series["step"]
    end = min(series["t"][-1] + width, series["end"])
    assert got["coverage"]["available"] == {"start": series["t"][0], "end": end}
    for field in fields:
        assert got["units"][field] == CATALOG[series["metric"]]["unit"]
        assert all(map(near, data["series"][field], series[field]))
        known = [value for value in series[field] if value is not None]
        summary = data["summary"][field]
        figures = {
            "first": known[0], "last": known[-1], "min": min(known), "max": max(known),
            "mean": sum(known) / len(known), "change": known[-1] - known[0],
        }  # fmt: skip
        if series["metric"] == "oi":
            figures["change_fraction"] = known[-1] / known[0] - 1
        if series["metric"] == "liquidations":
            figures["total"] = sum(known)
        assert set(summary) == {"known", *figures}
        assert summary["known"] == len(known)
        for name, exact in figures.items():
            assert summary[name] == pytest.approx(exact, rel=1e-5, abs=1e-15), name
    gaps = [gap for gap in series["gaps"] if gap in got["coverage"]["gaps"]]
    assert len(gaps) == len(got["coverage"]["gaps"]) == len(series["gaps"]) - got["coverage"]["gaps_omitted"]


def asked_of(metric: str) -> dict[str, str]:
    """A selection that the metric has."""
    selectors = CATALOG[metric]["selectors"]
    if "base" in selectors:
        return {"base": "BTC"}
    return {"market": "binance:perp:BTCUSDT"} if "market" in selectors else {}


@pytest.mark.requirement("mcp:any-metric", "mcp:digits")
@pytest.mark.parametrize("metric", CATALOG)
def test_every_metric_has_a_history_of_one_form(mcp: Mcp, metric: str) -> None:
    chosen = asked_of(metric)
    got = mcp.call("metric_history", {"metric": metric, **chosen, "range": "2d", "step": "1h"})
    data, series = got["data"], mcp.api.series(metric, **chosen, range="2d", step="1h")
    assert (data["metric"], data["step"], data["series"]["t"]) == (metric, "1h", series["t"])
    assert set(data["series"]) == {"t", *series["fields"]} == {"t", *data["summary"]}
    assert (data["base"], data.get("kind")) == ("BTC" if chosen else None, series.get("kind"))
    for field in series["fields"]:
        assert all(map(near, data["series"][field], series[field])), field
        known = [value for value in series[field] if value is not None]
        assert (data["summary"][field]["known"], got["units"][field]) == (len(known), CATALOG[metric]["unit"])
        assert near(data["summary"][field]["last"], known[-1])
    for alias in CATALOG[metric]["aliases"][:1]:
        assert mcp.call("metric_history", {"metric": alias, **chosen})["data"]["metric"] == metric
    url = got["provenance"]["page"].removeprefix(f"http://127.0.0.1:{mcp.api.port}")
    assert mcp.api.get(url, Accept="text/html").status == 200


@pytest.mark.requirement("mcp:any-metric")
def test_the_history_of_a_metric_has_its_selectors_and_kinds(mcp: Mcp) -> None:
    accounts, takers = (
        mcp.call("metric_history", {"metric": "long-short", "base": "BTC", "kind": kind})["data"]
        for kind in ("accounts", "taker_buy")
    )
    assert (accounts["kind"], takers["kind"]) == ("accounts", "taker_buy")
    assert accounts["series"]["v"] != takers["series"]["v"]
    by = mcp.call("metric_history", {"metric": "volume", "base": "BTC", "range": "7d", "by": "venue"})["data"]
    assert (set(by["venues"]), by["summary"]) == ({"binance", "bybit", "hyperliquid"}, {})
    for arguments, argument in (
        ({"metric": "candles", "base": "BTC"}, "base"), ({"metric": "spot-perp-volume", "base": "BTC"}, "base"),
        ({"metric": "oi", "base": "BTC", "kind": "accounts"}, "kind"), ({"metric": "oi"}, "base, market"),
        ({"metric": "basis", "base": "BTC", "type": "spot"}, "type"), ({"metric": "fnding", "base": "BTC"}, "metric"),
    ):  # fmt: skip
        assert mcp.wrong("metric_history", arguments)["data"]["argument"] == argument, arguments
    assert "a value is required" in mcp.wrong("metric_history", {"base": "BTC"})["message"]


@pytest.mark.requirement("mcp:points")
@pytest.mark.parametrize(
    ("length", "step"), [("1d", "5m"), ("7d", "1h"), ("30d", "4h"), ("90d", "1d"), ("2y", "3d"), ("3h", "1m")]
)
def test_without_a_step_there_are_about_200_points(mcp: Mcp, length: str, step: str) -> None:
    data = mcp.call("oi_history", {"base": "BTC", "range": length})["data"]
    assert data["step"] == step
    assert 80 <= len(data["series"]["t"]) <= 300


@pytest.mark.requirement("mcp:coarsened")
def test_a_step_that_is_too_fine_is_raised_and_reported(mcp: Mcp) -> None:
    got = mcp.call("oi_history", {"base": "BTC", "range": "30d", "step": "1m"})
    assert (got["data"]["step"], "coarsened" in warned(got)) == ("1h", True)
    assert len(got["data"]["series"]["t"]) < 1500
    assert "coarsened" not in warned(mcp.call("oi_history", {"base": "BTC", "range": "30d", "step": "1h"}))
    _, key = create_key(mcp.api.keys, "points")
    until(lambda: mcp.ask("ping", X_API_Key=key).status, lambda status: status == 200)
    keyed = mcp.call("oi_history", {"base": "BTC", "range": "3d", "step": "1m"}, X_API_Key=key)
    assert (keyed["data"]["step"], 4000 < len(keyed["data"]["series"]["t"]) < 6000) == ("1m", True)


@pytest.mark.requirement("mcp:coverage")
def test_a_history_says_how_many_markets_are_in_its_buckets(mcp: Mcp) -> None:
    """In some hours the funding of one of ETH's two perps is unknown."""
    for tool, metric in HISTORIES.items():
        got = mcp.call(tool, {"base": "ETH", "range": "4d", "step": "1h"})
        series = mcp.api.series(metric, base="ETH", range="4d", step="1h", coverage="1")
        short = [n < expected for n, expected in zip(series["n"], series["expected"], strict=True)]
        assert got["coverage"]["markets"] == {
            "n": series["n"][-1], "expected": series["expected"][-1], "buckets": len(short), "incomplete": sum(short),
        }  # fmt: skip
        assert any(short) == (metric == "funding")
    assert mcp.call("spike_feed", {})["coverage"]["markets"] is None
    snapshot = mcp.call("market_snapshot", {"base": "PEPE"})["coverage"]["markets"]
    assert snapshot == {"n": 2, "expected": 3, "buckets": 1, "incomplete": 1}


@pytest.mark.requirement("mcp:by")
@pytest.mark.parametrize("tool", HISTORIES)
def test_a_history_has_the_series_of_each_exchange(mcp: Mcp, tool: str) -> None:
    got = mcp.call(tool, {"base": "BTC", "range": "7d", "by": "venue"})
    data = got["data"]
    assert (data["summary"], list(data["series"]), len(data["series"]["t"])) == ({}, ["t"], 42)
    series = mcp.api.series(HISTORIES[tool], base="BTC", range="7d", by="venue", step=data["step"])
    assert (data["series"]["t"], set(data["venues"])) == (series["t"], set(series["venues"]))
    assert len(data["venues"]) > 1
    for venue, own in data["venues"].items():
        alone = mcp.call(tool, {"base": "BTC", "range": "7d", "venue": venue, "step": data["step"]})["data"]
        assert own["summary"] == alone["summary"]
        for field, values in own["series"].items():
            assert all(map(near, values, series["venues"][venue][field]))
            known = dict(zip(alone["series"]["t"], alone["series"][field], strict=True))
            assert values == [known.get(t) for t in data["series"]["t"]]


@pytest.mark.requirement("mcp:by")
def test_each_exchange_is_of_a_coin_alone(mcp: Mcp) -> None:
    for arguments in ({"base": "BTC", "venue": "okx"}, {"market": "binance:perp:BTCUSDT"}):
        assert mcp.wrong("oi_history", {**arguments, "by": "venue"})["data"]["argument"] == "by"
    assert mcp.wrong("oi_history", {"base": "BTC", "by": "coin"})["data"]["allowed"].endswith("venue")
