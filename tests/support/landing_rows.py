"""Rows to land, and what a journal file holds, for the tests of the landing."""

from pathlib import Path

import pyarrow as pa

from ingest.landing.journal import batches
from ingest.landing.rows import Row, to_batch


def row(n: int, body: str | None = "{}") -> Row:
    """A row whose key sets it apart from others."""
    return Row(60_000, "binance", "open_interest", str(n), "{}", 200, n, n + 1, 1, None, body)


def table(*rows: Row) -> list[pa.Table]:
    """The rows as the landing takes them."""
    return [pa.Table.from_batches([to_batch(rows)])]


def rows_of(journal: Path) -> list[Row]:
    """All whole rows of a journal file."""
    return [Row(**values) for batch in batches(journal) for values in batch.to_pylist()]
