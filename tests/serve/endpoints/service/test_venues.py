"""GET /api/venues: the exchanges as the mart has them, those of the aggregates first."""

import csv

import pytest

from tests.support.pipeline.dbt_project import PROJECT
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/venues"


@pytest.mark.requirement("venues:shape")
def test_exchanges_have_names_markets_and_completeness(api: Api) -> None:
    got = as_described(api, PATH)
    assert [one["venue"] for one in got["venues"]] == ["binance", "bybit", "upbit"]
    assert got["venues"][1] == {
        "venue": "bybit", "name": "Bybit", "role": "coins", "perps": 2, "spots": 1, "aggregated": 3,
        "liquidations": "full", "liquidations_note": "The documents say so.", "oi_factor": 0.5, "oi_note": "Measured.",
        "taker_side": False,
    }  # fmt: skip
    assert got["source"] == "exchanges@e1842"


@pytest.mark.requirement("venues:shape")
def test_what_the_schema_allows_is_what_the_seed_has(api: Api) -> None:
    schema = api.get("/openapi.json").json["paths"][PATH]["get"]["responses"]["200"]["content"]["application/json"]
    fields = schema["schema"]["properties"]["venues"]["items"]["properties"]
    with (PROJECT / "seeds/venues.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name in ("role", "liquidations"):
        assert {row[name] for row in rows} == set(fields[name]["enum"])
