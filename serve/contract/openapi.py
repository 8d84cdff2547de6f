"""The OpenAPI 3.1 document, derived from the endpoint declarations and the metric definitions."""

import re
from collections.abc import Iterable
from typing import Any

from serve.contract.endpoint import Endpoint
from serve.contract.parameters import Param
from serve.replica.catalog import Catalog, Metric

API_VERSION = "2026-10-20"
DESCRIPTION = (
    "Market data of crypto derivatives and spot, recorded every minute. Read-only. "
    "Times are UTC epoch milliseconds, fractions are 0.1 for 10 %, unknown values are null."
)
SECURITY = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "keyInUrl": {"type": "apiKey", "in": "query", "name": "api_key"},
}
STATUS_TEXT = {
    206: "The range of bytes that the request names.",
    304: "Unchanged since the ETag in If-None-Match.",
    400: "A parameter is unknown, repeated, malformed or out of range; the message says which and what is allowed.",
    401: "The API key is unknown or revoked. No key is needed.",
    404: "Unknown coin, market or path.",
    416: "The range is outside of the file, whose size is in Content-Range.",
    429: "The rate limit of this minute is exceeded; retry after Retry-After seconds.",
    503: "The data cannot be read now; retry after Retry-After seconds.",
}
ERROR = {"$ref": "#/components/schemas/Error"}
HEADERS = {
    "ETag": {"schema": {"type": "string"}, "description": "Strong validator of this body in this content encoding."},
    "Cache-Control": {"schema": {"type": "string"}},
}
BUDGET_HEADERS = {
    "X-RateLimit-Limit": {"schema": {"type": "integer"}, "description": "Requests per minute."},
    "X-RateLimit-Remaining": {"schema": {"type": "integer"}},
    "X-RateLimit-Reset": {"schema": {"type": "integer"}, "description": "Seconds to the end of this minute's window."},
    "RateLimit-Policy": {"schema": {"type": "string"}, "description": "The budget, in the syntax of the IETF draft."},
    "RateLimit": {
        "schema": {"type": "string"},
        "description": "What remains of the budget, in the syntax of the IETF draft.",
    },
}
RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}


def describe(endpoints: Iterable[Endpoint], catalog: Catalog) -> dict[str, Any]:
    """The whole document."""
    endpoints = sorted(endpoints, key=lambda item: item.path)
    groups = dict(sorted(item.group for item in endpoints))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tidemark",
            "version": API_VERSION,
            "description": DESCRIPTION + _metrics(catalog),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in groups.items()],
        "paths": {item.path: {"get": _operation(item, catalog)} for item in endpoints},
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {"error": {"type": "string", "description": "What is wrong and what is allowed."}},
                }
            },
            "securitySchemes": SECURITY,
        },
        "security": [{}, *({name: []} for name in SECURITY)],
    }


def _metrics(catalog: Catalog) -> str:
    return "\n\nMetrics:\n" + "\n".join(map(_metric_line, catalog.metrics)) if catalog.metrics else ""


def _metric_line(metric: Metric) -> str:
    also = f" Also called {', '.join(metric.aliases)}." if metric.aliases else ""
    text = metric.description or metric.title
    return f"- `{metric.name}` ({', '.join(metric.fields)}; {metric.unit or 'no unit'}): {text}{also}"


def _operation(item: Endpoint, catalog: Catalog) -> dict[str, Any]:
    statuses = {*item.statuses, 401, 429, 503} - {200}
    in_path = set(re.findall(r"{(\w+)}", item.path))
    headers, content = HEADERS | BUDGET_HEADERS, _content(item, catalog)
    return {
        "operationId": item.name,
        "tags": [item.group[0]],
        "summary": item.summary,
        "parameters": [_parameter(name, param, name in in_path, catalog) for name, param in item.params.items()],
        "responses": {
            "200": {"description": item.summary, "headers": headers, "content": content},
            **{
                str(status): _failure(status)
                if status >= 400
                else {"description": STATUS_TEXT[status], "headers": headers, "content": content}
                for status in sorted(statuses)
            },
            **({"304": {"description": STATUS_TEXT[304], "headers": BUDGET_HEADERS}} if item.ttl is not None else {}),
        },
    }


def _content(item: Endpoint, catalog: Catalog) -> dict[str, Any]:
    return {media: {"schema": item.schema_for(catalog)} if media == "application/json" else {} for media in item.media}


def _failure(status: int) -> dict[str, Any]:
    headers = {**BUDGET_HEADERS, **(RETRY if status in (429, 503) else {})}
    return {"description": STATUS_TEXT[status], "headers": headers, "content": {"application/json": {"schema": ERROR}}}


def _parameter(name: str, param: Param, in_path: bool, catalog: Catalog) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path" if in_path else "query",
        "required": in_path or param.required,
        "description": param.description,
        "schema": param.schema_for(catalog),
        **({"example": param.example} if param.example else {}),
    }
