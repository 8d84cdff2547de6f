"""GET / and GET /openapi.json: the endpoints and their parameters, derived from the declarations and the edition."""

from dataclasses import replace

from serve.contract.endpoint import REGISTRY, endpoint
from serve.contract.openapi import API_VERSION, describe
from serve.contract.parameters import Values
from serve.contract.schemas import Schema
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable

OBJECT: Schema = {"type": "object"}
LINK = '</.well-known/api-catalog>; rel="api-catalog", </openapi.json>; rel="service-desc", </docs>; rel="service-doc"'


def index_body() -> Body:
    """Name, version and the list of endpoints."""
    listed = [{"path": declared.path, "summary": declared.summary} for _, declared in sorted(REGISTRY.items())]
    listed.append({"path": "/mcp", "summary": "The same data as tools for models: an MCP server, by POST."})
    listed.append({"path": "/llms.txt", "summary": "What there is, for language models."})
    listed.append({"path": "/docs", "summary": "This API in Swagger UI, which sends requests."})
    listed.append({"path": "/guide/", "summary": "The guide: how to use, run and change Tidemark."})
    listed.append({"path": "/dbt/", "summary": "Documentation of the tables: what each metric and column means."})
    content = {"name": "Tidemark", "version": API_VERSION, "openapi": "/openapi.json", "endpoints": listed}
    body = json_body(content, vary=("Accept",))  # A browser gets the page.
    return replace(body, link=LINK)


@endpoint("/", ttl=300, statuses=(200, 400), schema=OBJECT, offline=lambda *_: index_body())
def index(query: Values, db: Reader) -> Body:
    """List of the endpoints."""
    return index_body()


def openapi_offline(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """The description with the metrics of the last edition that was served; without any before the first."""
    return json_body(describe(REGISTRY.values(), fallback.catalog), degraded=True)


@endpoint("/openapi.json", ttl=300, statuses=(200, 400), schema=OBJECT, offline=openapi_offline)
def openapi(query: Values, db: Reader) -> Body:
    """This API as OpenAPI 3.1."""
    return json_body(describe(REGISTRY.values(), db.edition.catalog))
