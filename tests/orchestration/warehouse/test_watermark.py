"""The watermark: what a window and a build leave in the pipeline's tables."""

import time
from dataclasses import replace

import duckdb

from orchestration.config.settings import Settings
from orchestration.warehouse.watermark import close_window, open_window, prepare
from orchestration.warehouse.windows import next_window
from tests.support.pipeline.pipeline_home import MINUTE


def test_a_clock_that_was_ahead_does_not_make_the_future_the_newest(landed: Settings) -> None:
    future = time.time_ns() // 1_000_000 + 30 * 24 * 60 * MINUTE
    with duckdb.connect() as con:
        prepare(con)
        con.execute("create table main.int_touched_minutes (minute_ms bigint)")
        con.execute(
            "create table main.touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar)"
        )
        con.execute("insert into pipeline.builds values (1, 0, 0, ?, [], [])", [future])
        window = next_window(con, landed.landing)
        assert window is not None
        open_window(con, window)
        [(told,)] = con.execute("select value::bigint from pipeline.settings where name = 'as_of_ms'").fetchall()
        assert told == close_window(con, window).as_of_ms == window.as_of_ms
        assert close_window(con, replace(window, as_of_ms=future)).as_of_ms < future
