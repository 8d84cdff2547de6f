"""JSON Schemas of responses, held against the responses."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.support.servers.api_server import Api


@pytest.mark.requirement("openapi:complete", "index:lists")
@pytest.mark.parametrize("path", ["/", "/api/markets", "/api/status", "/openapi.json", "/api/series/{metric}"])
def test_responses_satisfy_their_schemas(api: Api, path: str) -> None:
    operation = api.get("/openapi.json").json["paths"][path]["get"]
    content: Any = json.loads(api.get(path.replace("{metric}", "liqs?base=BTC")).body)
    Draft202012Validator(operation["responses"]["200"]["content"]["application/json"]["schema"]).validate(content)
    index = api.get("/").json
    assert {entry["path"] for entry in index["endpoints"]} >= {path, "/dbt/"}
    assert all(entry["summary"] for entry in index["endpoints"])
