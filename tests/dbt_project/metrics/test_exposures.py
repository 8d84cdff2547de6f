"""Exposures of the dbt project: one for each API endpoint and MCP tool, with the metrics and tables that it reads."""

import json
import re
from collections.abc import Iterator
from inspect import getclosurevars, unwrap
from types import CodeType, FunctionType
from typing import Any

import pytest
from dbt.contracts.graph.nodes import ModelNode

from serve.contract.endpoint import Endpoint
from serve.contract.openapi import describe
from serve.contract.parameters import read_values
from serve.endpoints import all_endpoints
from serve.mcp.tool import Tool
from serve.mcp.tools import TOOLS
from serve.queries.as_known import VIEWS
from serve.queries.figures.metrics import listed
from serve.queries.series_sql import series_sql
from serve.replica.catalog import read_catalog
from tests.support.pipeline.dbt_project import manifest, served
from tests.support.replica.replica import CATALOG

# A table that a statement names. Where the name goes on with a step that is filled in, it ends with an underscore.
READ = re.compile(r"\b(?:from|join)\s+([a-z]\w+)")
ROUTES: dict[str, Endpoint | Tool] = {
    **{endpoint.path: endpoint for endpoint in all_endpoints()},
    **{f"{tool.name} (MCP)": tool for tool in TOOLS},
}
METRICS = read_catalog((name, json.dumps(definition)) for name, definition in CATALOG.items())


def reached(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """The texts of a function's code and of what it uses of serve's modules: functions and constants."""
    if function in seen:
        return
    seen.add(function)
    values: list[Any] = [function.__code__, *(cell.cell_contents for cell in function.__closure__ or ())]
    while values:
        value = values.pop()
        match value:
            case str():
                yield value
            case CodeType():
                values += [*value.co_consts, *(function.__globals__.get(name) for name in value.co_names)]
            case tuple() | list() | frozenset():
                values += value
            case dict():
                values += value.values()
            case FunctionType() if value.__module__.startswith("serve."):
                yield from reached(value, seen)


@pytest.fixture(scope="module")
def exposures() -> dict[str, Any]:
    """The exposures of the API and of the MCP server, by label: an endpoint's path, a tool's name."""
    found = manifest().exposures.values()
    return {exposure.label or exposure.name: exposure for exposure in found if exposure.url != "/quality/"}


def test_every_endpoint_and_tool_has_an_exposure_and_no_other(exposures: dict[str, Any]) -> None:
    assert set(exposures) == set(ROUTES)


@pytest.mark.parametrize("label", ROUTES)
def test_an_exposure_depends_on_the_metrics_and_the_tables_that_its_route_reads(
    label: str, exposures: dict[str, Any]
) -> None:
    route, functions = ROUTES[label], set[FunctionType]()
    answer = unwrap(route.answer)
    assert isinstance(answer, FunctionType)
    texts = set(reached(answer, functions))
    named = {table for text in texts for table in READ.findall(text)}
    tables = {node.name for node in manifest().nodes.values() if isinstance(node, ModelNode)}
    metrics = metrics_of(route, functions)
    wanted = named & tables
    if series_sql in functions:
        # As they were known, series are read from views of every step; revisions are of no others.
        now, then = route.params.keys().isdisjoint({"since"}), route.params.keys() & {"since", "as_known_at"}
        wanted |= {table for metric in metrics for table in series_of(metric)} if now else set()
        wanted |= set(VIEWS.values()) if then else set()
    nodes = exposures[label].depends_on.nodes
    stated = {node.rpartition(".")[2] for node in nodes if node.startswith("model.")}
    # Which steps are filled in is not in the statement: at least one.
    families = tuple(name for name in named - tables if name.endswith("_") and any(t.startswith(name) for t in tables))
    assert all(any(table.startswith(family) for table in stated) for family in families)
    assert {table for table in stated if table in wanted or not table.startswith(families or ("-",))} == wanted
    in_api = {node.unique_id: node.config.meta.get("api_name") for node in manifest().metrics.values()}
    assert {in_api[node] for node in nodes if node.startswith("metric.")} == metrics


@pytest.mark.parametrize("label", [label for label in ROUTES if label.startswith("/")])
def test_the_url_of_an_endpoint_is_a_request_that_it_accepts(label: str, exposures: dict[str, Any]) -> None:
    endpoint = ROUTES[label]
    assert isinstance(endpoint, Endpoint)
    path, _, query = exposures[label].url.partition("?")
    pattern = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", endpoint.path)
    matched = re.fullmatch(pattern, path)
    assert matched, f"{path} is not {endpoint.path}"
    assert set(read_values(endpoint.params, matched.groupdict(), query)) == set(endpoint.params)


def metrics_of(route: Endpoint | Tool, functions: set[FunctionType]) -> set[str]:
    """The metrics that may be asked of a route, or that it is made for; OpenAPI describes all."""
    if {describe, listed} & functions:
        return set(CATALOG)
    schemas = [param.schema_for(METRICS) for param in route.params.values()]
    enums = [set(schema["enum"]) for schema in schemas if "enum" in schema]
    enums += [set(re.findall(r"[a-z][a-z0-9-]+", schema["pattern"])) for schema in schemas if "pattern" in schema]
    asked = {name for enum in enums if enum <= set(METRICS.by_name) for name in enum}
    fixed = getclosurevars(unwrap(route.resolve)).nonlocals.get("metric") if route.resolve else None
    return {METRICS.by_name[name].name for name in (*asked, *([fixed] if fixed else []))}


def series_of(name: str) -> set[str]:
    """The tables that a metric's series are read from: all selectors, all steps that it has."""
    metric = METRICS.by_name[name]
    selectors = {*metric.selectors, *(["venue"] if "base" in metric.selectors else [])}
    widths = {tier.step: tier.step_ms for tier in served().tiers}
    steps = [step for step, width in widths.items() if not metric.finest or width >= widths[metric.finest]]
    return {metric.table(selector, step) for selector in selectors for step in steps}
