"""The OpenAPI document: valid and complete, and true when schemathesis holds the running server to it."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from serve.http.keys import create_key
from tests.support.replica.replica import CATALOG, publish
from tests.support.servers.api_server import ROOT, Api, free_port, running, until
from tests.support.servers.series_calls import OF_BOOKS, OF_RATIOS


@pytest.mark.requirement("openapi:valid", "openapi:complete")
def test_openapi(api: Api) -> None:
    document = api.get("/openapi.json").json
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == "2026-10-20"
    assert set(document["paths"]) == {
        "/", "/api/accuracy", "/api/altcoin-season", "/api/bulk", "/api/bulk/{table}/{partition}/{file}",
        "/api/coin/{base}", "/api/coinbase-premium/history",
        "/api/coins/overlay", "/api/coverage", "/api/derivatives-fear-greed", "/api/events", "/api/gaps",
        "/api/explain", "/api/funding-percentiles", "/api/funding-persistence",
        "/api/heatmap-validation", "/api/hyperliquid/liquidations", "/api/instruments",
        "/api/kimchi-premium/history", "/api/liquidations", "/api/long-short", "/api/market-movers", "/api/markets",
        "/api/methodology/{metric}", "/api/metrics",
        "/api/new-listings", "/api/open-interest-acceleration", "/api/options/{coin}", "/api/options/{coin}/iv",
        "/api/options/{coin}/smile",
        "/api/order-book-depth", "/api/order-book-depth/{market}",
        "/api/perp-dex-ranking", "/api/revisions", "/api/search",
        "/api/series", "/api/series/{metric}", "/api/sparklines", "/api/spike-stats", "/api/spike-stats/{COIN}",
        "/api/spikes", "/api/status", "/api/venues", "/api/xray", "/api/xray/{market}", "/openapi.json",
    }  # fmt: skip
    series = document["paths"]["/api/series/{metric}"]["get"]
    parameters = {parameter["name"]: parameter for parameter in series["parameters"]}
    names = {*CATALOG, *(alias for definition in CATALOG.values() for alias in definition["aliases"])}
    assert set(parameters["metric"]["schema"]["enum"]) == names
    assert set(parameters) == {
        "metric", "base", "market", "range", "start", "end", "step", "venue", "type", "kind", "format", "coverage",
        "as_known_at", "by",
    }  # fmt: skip
    assert all(parameter["description"] for parameter in parameters.values())
    assert {"200", "304", "400", "401", "404", "429"} <= set(series["responses"])
    assert "Current funding rate as the venue quotes it" in document["info"]["description"]


@pytest.mark.requirement("openapi:complete")
def test_the_description_is_generated_from_the_definitions(api: Api) -> None:
    text = api.get("/openapi.json").json["info"]["description"]
    for metric in (*OF_RATIOS, *OF_BOOKS):
        fields, unit = ", ".join(CATALOG[metric]["fields"]), CATALOG[metric]["unit"]
        assert f"- `{metric}` ({fields}; {unit}): {CATALOG[metric]['description']}" in text


# Relations between parameters (exactly one of base and market, a range that is not too long, a coin that is tracked)
# cannot be said in OpenAPI: what its schemas allow may still be a 400 or a 404.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["200", "400", "404"]
"""
# Rows that the small replica lacks: without them some endpoints return 503, which they never do on a full replica.
FILLED = """
insert into option_coins select * replace ('ETH' as coin) from option_coins;
insert into option_expiries select * replace ('ETH' as coin) from option_expiries;
insert into option_strikes select * replace ('ETH' as coin) from option_strikes;
delete from spike_stats where lookback = '7d';
insert into spike_stats select * replace ('7d' as lookback) from spike_stats where lookback = '30d';
insert into spike_stats select * replace ('ETH' as base) from spike_stats where base = 'BTC';
"""
HOOKS = """
import hypothesis
import schemathesis
from tests.support.servers.api_server import some_address

# Schemathesis reports to hypothesis whether a request was accepted, and hypothesis spends half of a run's CPU on
# shrinking accepted requests. Without that, every example is drawn again.
hypothesis.target = lambda observation, label="": observation

@schemathesis.hook
def before_call(context, case, kwargs):
    # Budgets are by address: each request has its own.
    case.headers = {**(case.headers or {}), "X-Forwarded-For": some_address()}

@schemathesis.hook
def map_query(context, query):
    # Random words are hardly ever a tracked coin: half of the requests ask for one, so that answers are held against
    # the schemas too.
    if query and "base" in query and len(str(query)) % 2:
        kept = {name: value for name, value in query.items() if name in ("step", "venue", "type", "format")}
        return {**kept, "base": "BTC"}
    return query
"""


@pytest.mark.requirement("openapi:true")
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    (tmp_path / "hooks_of_this_run.py").write_text(HOOKS)
    with duckdb.connect(str(publish(tmp_path / "serving", 1842))) as con:
        con.execute(FILLED)
    with running(tmp_path / "serving", free_port()) as api:
        _, key = create_key(api.keys, "schemathesis")
        until(lambda: api.get("/api/status", X_API_Key=key).status, lambda status: status == 200)
        url = f"http://127.0.0.1:{api.port}/openapi.json"
        command = [str(Path(sys.executable).parent / "schemathesis"), "run", url, "--seed", "1"]
        done = subprocess.run(
            [
                *command,
                "--max-examples",
                "200",
                "--phases",
                "examples,coverage,fuzzing",
                "--checks",
                "all",
                "--exclude-path",  # Its responses do not end.
                "/api/events",
                "--no-color",
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                "SCHEMATHESIS_HOOKS": "hooks_of_this_run",
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
        assert "Traceback" not in api.log.read_text()
