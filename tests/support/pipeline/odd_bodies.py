"""A minute with odd bodies, and a view that fails with them as a model does with a value that nobody expected."""

import json

from ingest.landing.rows import Row
from orchestration.config.settings import Settings
from orchestration.warehouse.writer import connection
from tests.support.pipeline.pipeline_home import minute_rows

ODD = "666"


def odd_rows(tick_ms: int, *symbols: str) -> list[Row]:
    """The minute's responses, the bars of these symbols with a close that the guarded view refuses."""
    rows = []
    for row in minute_rows(tick_ms):
        if row.endpoint == "perp_bars" and row.key in symbols:
            bars = json.loads(row.body or "")
            row = row._replace(body=json.dumps([[*bar[:4], ODD, *bar[5:]] for bar in bars]))
        rows.append(row)
    return rows


def guard(settings: Settings, guarded: bool = True) -> None:
    """Let the view of Binance's bars fail with an odd close, as a model does with a value that nobody expected."""
    view = "stg_binance__perp_bars"
    with connection(settings.warehouse) as con:
        if not guarded:
            con.execute(f"create or replace view {view} as from {view}_before")
            return
        [[sql]] = con.execute(f"select sql from duckdb_views() where view_name = '{view}'").fetchall()
        con.execute(sql.replace(view, f"{view}_before", 1))
        con.execute(
            f"create or replace view {view} as select * replace "
            f"(case when close = {ODD} then error('odd close of ' || symbol) else close end as close) "
            f"from {view}_before"
        )
