"""A response held against the schema that the API's description has for it."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.support.servers.api_server import Api


@cache
def validator(api: Api, path: str) -> Draft202012Validator:
    """Of the 200 of a path, as /openapi.json writes it."""
    described = api.get("/openapi.json").json["paths"][path]["get"]["responses"]["200"]
    return Draft202012Validator(described["content"]["application/json"]["schema"])


def as_described(api: Api, path: str, asked: str | None = None) -> Any:
    """The JSON of a path (asked in this form), which satisfies its schema."""
    content = api.get(asked or path).json
    validator(api, path).validate(content)
    return content
