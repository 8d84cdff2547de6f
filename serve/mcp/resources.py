"""Resources of /mcp: the metrics' definitions and pages of the guide, as Markdown that a client shows or attaches."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from serve.contract.errors import argument_details, nearest, quote
from serve.guide.guide import PAGES
from serve.mcp.jsonrpc import RpcError
from serve.queries.figures.metrics import listed
from serve.replica.catalog import Catalog

MIME = "text/markdown"
METRICS_AT, GUIDE_AT = "tidemark://metrics/", "tidemark://guide/"
# Of the guide, what numbers mean; the rest is for those who run it or build on it.
GUIDE = {
    "methods": "How metrics, indices and models are computed, with their formulas.",
    "venues": "What each exchange publishes, in which units, and where it is special.",
    "glossary": "The words that have a specific meaning here.",
}
TEMPLATES = (
    {
        "uriTemplate": METRICS_AT + "{metric}",
        "name": "metric",
        "title": "Definition of a metric",
        "description": "What a metric means: unit, formula, caveats, and how its history is asked for.",
        "mimeType": MIME,
    },
    {
        "uriTemplate": GUIDE_AT + "{page}",
        "name": "guide",
        "title": "A page of the guide",
        "description": f"One of {', '.join(GUIDE)}.",
        "mimeType": MIME,
    },
)
SAID = {
    "formula": "Formula",
    "unit": "Unit",
    "fields": "Fields",
    "selectors": "Asked for by",
    "types": "Market types",
    "kinds": "Kinds",
    "steps": "Steps",
    "aliases": "Other names",
}


class Resource(NamedTuple):
    """One resource, and its text."""

    uri: str
    name: str
    title: str
    description: str
    text: str


def list_resources(catalog: Catalog) -> list[dict[str, Any]]:
    """The resources as in resources/list."""
    return [
        {
            **{name: getattr(one, name) for name in ("uri", "name", "title", "description")},
            "mimeType": MIME,
            "size": len(one.text.encode()),
        }
        for one in _resources(catalog)
    ]


def read_resource(uri: str, catalog: Catalog, missing_code: int) -> list[dict[str, Any]]:
    """The contents as in resources/read; raises RpcError with this code for a URI that there is not. An alias of a
    metric is read too."""
    found = {one.uri: one for one in _resources(catalog)}
    asked = uri
    if uri.startswith(METRICS_AT) and (metric := catalog.by_name.get(uri.removeprefix(METRICS_AT))):
        asked = METRICS_AT + metric.name
    if asked not in found:
        allowed = "use one of resources/list"
        details = {**argument_details("uri", uri, allowed, nearest(uri, found)), "uri": uri}
        raise RpcError(200, missing_code, f"uri: there is no resource {quote(uri)}; {allowed}", details)
    return [{"uri": uri, "mimeType": MIME, "text": found[asked].text}]


def _resources(catalog: Catalog) -> Iterator[Resource]:
    for metric in listed(catalog)["metrics"]:
        meaning = metric["description"].partition(". ")[0].rstrip(".") + "."
        yield Resource(METRICS_AT + metric["metric"], metric["metric"], metric["title"], meaning, _defined(metric))
    yield from _guide()


@cache
def _guide() -> tuple[Resource, ...]:
    pages = {name: (PAGES / f"{name}.md").read_text(encoding="utf-8") for name in GUIDE}
    return tuple(
        Resource(GUIDE_AT + name, name, text.partition("\n")[0].removeprefix("# "), GUIDE[name], text)
        for name, text in pages.items()
    )


def _defined(metric: Mapping[str, Any]) -> str:
    """A definition as Markdown."""
    lines = [f"# {metric['title']} (`{metric['metric']}`)", "", metric["description"], ""]
    for name, label in SAID.items():
        if value := metric[name]:
            lines.append(f"- {label}: {value if isinstance(value, str) else ', '.join(value)}")
    if metric["caveats"]:
        lines += ["", "## Caveats", "", *(f"- {one}" for one in metric["caveats"])]
    lines += ["", f"Series: `GET {metric['series']}`. From the exchanges' fields: `GET {metric['methodology']}`.", ""]
    return "\n".join(lines)
