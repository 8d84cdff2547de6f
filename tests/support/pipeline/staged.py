"""A warehouse that tests only read: opening one takes 50 ms of CPU, because it has hundreds of views."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import duckdb

from tests.support.pipeline.warehouse import Warehouse


class Staged(Warehouse):
    """A warehouse that is only read from now on: over one connection, which knows its views already."""

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect(self.path, read_only=True)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, list(parameters)).fetchall()
