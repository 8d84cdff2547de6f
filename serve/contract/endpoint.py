"""The declaration of an endpoint. Validation, caching, degradation and OpenAPI all follow from it.

Adding an endpoint is adding one file to `serve/endpoints/`: a function of (query, reader) that returns a Body.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from serve.contract.parameters import Param, Values
from serve.contract.schemas import Schema
from serve.contract.serialize import Body
from serve.replica.catalog import Catalog
from serve.replica.edition import Edition, Reader
from serve.replica.unavailable import Fallback, Unavailable

Query = TypeVar("Query")
Resolve = Callable[[Values, Edition, bool], Any]
Answer = Callable[[Any, Reader], Body]
Offline = Callable[[Values, Unavailable, Fallback], Body]


@dataclass(frozen=True)
class Endpoint:
    """One path. Clients may cache a response for `ttl` seconds; None: not at all, because it depends on the clock.

    `budget` is the rate limit that its requests count against (limits.BUDGETS); None: they are not counted.
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
    budget: str | None

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
    budget: str | None = "general",
) -> Callable[[Callable[[Query, Reader], Body]], Callable[[Query, Reader], Body]]:
    """Declare the decorated function as the handler of GET `path` (path parameters in braces).

    The function runs in a worker thread and depends on (query, edition) alone. `resolve` makes the canonical query
    from the parsed values, the edition, and whether the request has a valid key; equal requests must have equal
    queries, which are the cache key. `offline` makes the body when no replica can be read, from the reason and
    what there is without a replica; without it the response is a 503. Every endpoint may also return
    401 and, with a budget, 429.
    """

    def declare(answer: Callable[[Query, Reader], Body]) -> Callable[[Query, Reader], Body]:
        if path in REGISTRY:
            raise ValueError(f"{path} is declared twice")
        summary = (answer.__doc__ or "").strip().split("\n")[0]
        if not summary:
            raise ValueError(f"{path} has no docstring: its first line is the endpoint's summary")
        REGISTRY[path] = Endpoint(
            path, summary, answer, params or {}, schema, ttl, statuses, media, resolve, offline, budget
        )
        return answer

    return declare
