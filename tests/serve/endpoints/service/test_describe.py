"""GET / and GET /openapi.json: every endpoint is listed, and the description names what the edition has."""

import pytest

from serve.contract.endpoint import REGISTRY
from serve.endpoints import all_endpoints
from tests.support.replica.replica import CATALOG
from tests.support.servers.api_server import Api


@pytest.mark.requirement("index:lists")
def test_the_index_and_the_description_list_every_endpoint(api: Api) -> None:
    declared = {one.path for one in all_endpoints()}
    assert declared == set(REGISTRY)
    listed = [one["path"] for one in api.get("/").json["endpoints"]]
    assert len(listed) == len(set(listed))
    assert declared | {"/mcp", "/llms.txt", "/docs", "/guide/", "/dbt/"} == set(listed)
    assert set(api.get("/openapi.json").json["paths"]) == declared


@pytest.mark.requirement("openapi:complete")
def test_the_description_has_the_metrics_of_the_edition(api: Api) -> None:
    text = api.get("/openapi.json").json["info"]["description"]
    assert all(f"- `{name}` (" in text for name in CATALOG)
