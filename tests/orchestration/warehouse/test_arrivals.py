"""Arrivals in the landing: the wait for a minute's load, and what the loads of a build hold."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.landing.landing import land
from ingest.landing.loads import committed_loads
from ingest.landing.rows import SCHEMA, to_batch
from orchestration.config.settings import Settings
from orchestration.warehouse.arrivals import new_arrivals, wait_for_minute
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import next_window
from tests.support.pipeline.landed import MINUTES, copied_home, quiet
from tests.support.pipeline.pipeline_home import MINUTE, land_minutes, minute_rows

NEXT = MINUTES[-1] + MINUTE


def test_the_wait_ends_with_the_load_of_the_minute(landed: Settings, tmp_path: Path) -> None:
    settings = copied_home(landed, tmp_path)
    said: list[str] = []
    assert wait_for_minute(settings.landing, MINUTES[-1], 0, said.append)
    assert said == []
    # What is fetched of the past is no minute of the recorder.
    past = [row._replace(endpoint=f"history_{row.endpoint}") for row in minute_rows(NEXT)]
    land(pa.Table.from_batches([to_batch(past)], SCHEMA), settings.landing, settings.recorder / "dlt")
    assert not wait_for_minute(settings.landing, NEXT, 0, said.append)
    assert said == ["the load of this minute is not committed after 0 s: building what there is"]
    land_minutes(settings, [NEXT])
    assert wait_for_minute(settings.landing, NEXT, 0, quiet)


def test_a_run_that_waits_imports_no_pandas(landed: Settings) -> None:
    """DuckDB would for a query's parameters: 0.3 s of each minute."""
    code = (
        "import sys; from orchestration.warehouse.arrivals import wait_for_minute; "
        f"assert wait_for_minute({landed.landing!r}, {MINUTES[-1]}, 0, print); print('pandas' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["False"]


def test_a_build_s_arrivals_are_counted_by_venue(landed: Settings) -> None:
    newest = committed_loads(landed.landing)[-1].load_id
    with duckdb.connect() as con:
        prepare(con)
        window = next_window(con, landed.landing)
    assert window is not None
    found = new_arrivals(landed.landing, [window])
    assert (found.load_id, found.rows) == (newest, {"binance": sum(len(minute_rows(minute)) for minute in MINUTES)})
    assert found.lag_s is not None
    nothing = new_arrivals(landed.landing, [])
    assert (nothing.load_id, nothing.lag_s, nothing.rows) == (newest, None, {})
