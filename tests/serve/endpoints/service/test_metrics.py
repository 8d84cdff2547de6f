"""GET /api/metrics: the definitions, and that what it lists can be requested."""

from pathlib import Path

import pytest

from tests.support.replica.replica import CATALOG, publish
from tests.support.servers.api_server import Api, free_port, running, some_address, until
from tests.support.servers.described import as_described


@pytest.mark.requirement("metrics:shape")
def test_each_metric_has_its_definition(api: Api) -> None:
    got = as_described(api, "/api/metrics")
    metrics = {one["metric"]: one for one in got["metrics"]}
    assert list(metrics) == sorted(CATALOG, key=list(metrics).index)
    for name, written in CATALOG.items():
        for part in ("title", "description", "unit", "formula", "caveats", "aliases"):
            assert metrics[name][part] == written[part], (name, part)
        assert metrics[name]["fields"] == list(written["fields"])
    later = {name for name, one in metrics.items() if one["known_later"]}
    assert later == {"price", "candles", "oi", "funding", "volume", "liquidations", "taker-flow", "cvd", "basis"}
    assert metrics["long-short"]["kinds"] == ["accounts", "top_acct", "top_pos", "taker_buy"]
    assert (metrics["oi"]["types"], metrics["oi"]["selectors"]) == (["perp", "all"], ["base", "market"])
    assert got["source"] == "catalog@e1842"
    assert ("1m", 60_000) in {(one["step"], one["step_ms"]) for one in got["steps"]}
    assert "binance" in got["venues"]


@pytest.mark.requirement("metrics:true")
def test_a_listed_request_is_answered_and_another_step_is_coarser(api: Api) -> None:
    got = api.get("/api/metrics").json
    widths = {one["step"]: one["step_ms"] for one in got["steps"] if 86_400_000 % one["step_ms"] == 0}
    for metric in got["metrics"]:
        who = some_address()
        of = {"all": "", "base": "&base=BTC", "market": "&market=binance:{}:BTCUSDT"}[metric["selectors"][0]]
        base = of.format("perp")
        for step, width in widths.items():
            answer = api.get(f"{metric['series']}?range=6h&step={step}{base}", X_Forwarded_For=who)
            assert (answer.json["step"] == width) == (step in metric["steps"]), (metric["metric"], step)
        assert api.get(metric["methodology"]).status == 200
        for type_ in metric["types"]:
            assert (
                api.get(f"{metric['series']}?type={type_}&step=1h{of.format(type_)}", X_Forwarded_For=who).status == 200
            )


@pytest.mark.requirement("metrics:offline")
def test_without_data_it_lists_the_metrics_of_the_last_edition(tmp_path: Path) -> None:
    with running(tmp_path, free_port()) as api:
        before = api.get("/api/metrics")
        assert (before.status, before.json["source"]) == (200, None)
        assert before.headers["cache-control"] == "no-store"
        publish(tmp_path, 1)
        got = until(lambda: api.get("/api/metrics").json, lambda found: found["source"] == "catalog@e1")
        assert {one["metric"] for one in got["metrics"]} == set(CATALOG)
