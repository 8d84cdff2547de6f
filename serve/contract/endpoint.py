"""The declaration of an endpoint. Validation, caching, degradation and OpenAPI all follow from it.

Adding an endpoint is adding one file to `serve/endpoints/`: a function of (query, reader) that returns a Body.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import orjson

from serve.contract.parameters import Param, Values, one_of
from serve.contract.schemas import Schema
from serve.contract.serialize import JSON, Body
from serve.contract.tables import FORMATS, MEDIA, body_of_rows
from serve.replica.catalog import Catalog
from serve.replica.edition import Edition, Reader
from serve.replica.unavailable import Fallback, Unavailable

Query = TypeVar("Query")
Resolve = Callable[[Values, Edition, bool], Any]
Source = TypeVar("Source")
Answer = Callable[[Any, Any], Body]
Offline = Callable[[Values, Unavailable, Fallback], Body]


@dataclass(frozen=True)
class Endpoint:
    """One path. Clients may cache a response for `ttl` seconds; None: not at all, because it depends on the clock.

    `budget` is the rate limit that its requests count against (limits.BUDGETS). A response that is `followed` does not
    end: each edition adds the body that the query has there. One that is `sent` is a file: its function takes the
    folder of bulk files in place of a reader, and no edition has to be there.
    """

    path: str
    summary: str
    answer: Answer
    params: Mapping[str, Param]
    schema: Schema | Callable[[Catalog], Schema]
    ttl: int | None
    statuses: tuple[int, ...]
    media: tuple[str, ...]
    resolve: Resolve | None
    offline: Offline | None
    budget: str
    followed: bool = False
    sent: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """Its section of the API's description: name and docstring of the package whose module declares it."""
        package = sys.modules[self.answer.__module__.rpartition(".")[0]]
        return package.__name__.rpartition(".")[2].capitalize(), (package.__doc__ or "").strip()

    def schema_for(self, catalog: Catalog) -> Schema:
        """The JSON Schema of its body in this edition."""
        return self.schema(catalog) if callable(self.schema) else self.schema

    @property
    def name(self) -> str:
        """A stable identifier: the name of the function that makes the response."""
        return self.answer.__name__


REGISTRY: dict[str, Endpoint] = {}


def endpoint(
    path: str,
    *,
    ttl: int | None,
    schema: Schema | Callable[[Catalog], Schema],
    statuses: tuple[int, ...] = (200,),
    media: tuple[str, ...] = ("application/json",),
    resolve: Resolve | None = None,
    offline: Offline | None = None,
    params: Mapping[str, Param] | None = None,
    budget: str = "general",
    table: str | None = None,
    followed: bool = False,
    sent: bool = False,
) -> Callable[[Callable[[Query, Source], Body]], Callable[[Query, Source], Body]]:
    """Declare the decorated function as the handler of GET `path` (path parameters in braces).

    The function runs in a worker thread and depends on (query, edition) alone. `resolve` makes the canonical query
    from the parsed values, the edition, and whether the request has a valid key; equal requests must have equal
    queries, which are the cache key. `offline` makes the body when no replica can be read, from the reason and
    what there is without a replica; without it the response is a 503. Every endpoint may also return
    401, 429 and 503. `table` is the field with the rows of the response, whose form is then a
    parameter. A `followed` response goes on with the function's body in each edition; its parameter `since` is the
    edition that the client has. The function of a `sent` response opens a file of the folder that it is given, and
    returns a FileBody.
    """

    def declare(answer: Callable[[Query, Source], Body]) -> Callable[[Query, Source], Body]:
        if path in REGISTRY:
            raise ValueError(f"{path} is declared twice")
        summary = (answer.__doc__ or "").strip().split("\n")[0]
        if not summary:
            raise ValueError(f"{path} has no docstring: its first line is the endpoint's summary")
        declared = Endpoint(
            path, summary, answer, params or {}, schema, ttl, statuses, media, resolve, offline, budget, followed, sent
        )
        REGISTRY[path] = _in_each_format(declared, table) if table else declared
        return answer

    return declare


class Formatted(NamedTuple):
    """The canonical query of an endpoint with a table, and the form of its response."""

    form: str
    query: Any


def _unresolved(values: Values, edition: Edition, keyed: bool) -> Values:
    return values


def _in_each_format(declared: Endpoint, table: str) -> Endpoint:
    """The endpoint with a parameter `format`, by which the rows of its table are CSV, Parquet or Arrow."""
    if declared.offline:
        raise ValueError(f"{declared.path} has a table, and none without a replica: leave one of the two out")

    @wraps(declared.resolve or _unresolved)
    def resolve(values: Values, edition: Edition, keyed: bool) -> Formatted:
        own = {name: value for name, value in values.items() if name != "format"}
        return Formatted(values["format"], (declared.resolve or _unresolved)(own, edition, keyed))

    @wraps(declared.answer)
    def answer(asked: Formatted, db: Reader) -> Body:
        body = declared.answer(asked.query, db)
        if asked.form == "json" or body.degraded or body.content_type != JSON:
            return body
        row = declared.schema_for(db.edition.catalog)["properties"][table]["items"]
        source = f"{declared.path}@e{db.edition.edition_id}"
        return replace(body_of_rows(orjson.loads(body.data), table, row, asked.form, source), ttl=body.ttl)

    about = f"Form of the response; CSV, Parquet and Arrow have the rows of `{table}`."
    params = {**declared.params, "format": one_of(about, *FORMATS, default="json")}
    media = (*declared.media, *MEDIA)
    return replace(declared, params=params, resolve=resolve, answer=answer, media=media)
