"""The rows that DuckDB scans for typical series requests, compared with the rows of the table."""

import json
from pathlib import Path
from typing import Any

TYPICAL = (
    "price?base=B0",
    "oi?base=B0&range=5d&step=5m",
    "funding?base=B0&range=30d&venue=binance",
    "liquidations?base=B0&range=1y",
    "basis?base=B0&range=3d&step=5m",
)


def scanned(folder: Path) -> list[dict[str, Any]]:
    """Scanned rows of typical requests by EXPLAIN ANALYZE, and the rows of their tables."""
    from serve.contract.endpoint import REGISTRY
    from serve.contract.parameters import read_values
    from serve.endpoints import all_endpoints
    from serve.queries.series_query import resolve_series
    from serve.queries.series_sql import series_sql
    from serve.replica.edition import open_edition

    all_endpoints()
    edition = open_edition(folder / "serving" / "replica_a.duckdb")
    rows = []
    for request in TYPICAL:
        metric, _, text = request.partition("?")
        values = read_values(REGISTRY["/api/series/{metric}"].params, {"metric": metric}, text)
        query = resolve_series(values, edition, False)
        definition = edition.catalog.by_name[metric]
        table = f"series_{'market' if query.venue else definition.table(query.selector, '').split('_')[1]}_{query.step}"
        plan = edition.connection.execute(f"explain (analyze, format json) {series_sql(query, edition)}").fetchall()
        (held,) = edition.connection.execute(f"select count(*) from {table}").fetchall()[0]
        found = json.loads(plan[0][1])
        rows.append({"request": request, "table": table, "table_rows": held, "scanned_rows": _scanned(found)})
    edition.connection.close()
    return rows


def _scanned(node: dict[str, Any]) -> int:
    own = node.get("operator_rows_scanned", 0) if node.get("operator_type") == "TABLE_SCAN" else 0
    return int(own) + sum(map(_scanned, node.get("children", [])))
