"""The watermark: what a window and a build leave in the pipeline's tables."""

import time
from dataclasses import replace

import duckdb

from orchestration.config.settings import Settings
from orchestration.warehouse.watermark import close_window, open_window, prepare
from orchestration.warehouse.windows import next_window
from tests.support.pipeline.landed import MINUTES
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
        [(reported,)] = con.execute("select value::bigint from pipeline.settings where name = 'as_of_ms'").fetchall()
        assert reported == close_window(con, window).as_of_ms == window.as_of_ms
        assert close_window(con, replace(window, as_of_ms=future)).as_of_ms < future


def test_a_window_is_open_until_the_watermark_has_moved(landed: Settings) -> None:
    def state(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
        return dict(con.execute("from pipeline.settings").fetchall())

    with duckdb.connect() as con:
        prepare(con)
        prepare(con)  # what is there stays
        con.execute(f"create table int_touched_minutes as select unnest({MINUTES}) as minute_ms")
        con.execute(
            f"create table touched_markets as select * from (values ('1m', {MINUTES[0]}, 'm', 'BTC'), "
            f"('1h', {MINUTES[0]}, 'm', 'BTC'), ('1h', {MINUTES[0]} + 7200000, 'm', 'BTC')) "
            "as t(step, minute_ms, market_id, base)"
        )
        window = next_window(con, landed.landing)
        assert window is not None
        open_window(con, window, {"every_1h", "every_5m"}, fetching=True)
        assert con.execute("select tick_ms from pipeline.window_minutes").fetchall() == [
            (minute,) for minute in MINUTES
        ]
        assert (state(con)["triggers"], state(con)["fetching"]) == ("every_1h every_5m", "true")
        built = close_window(con, window, {"seeds": "as they are"})
        assert (built.build_id, built.minutes, built.touched_minutes) == (1, tuple(MINUTES), tuple(MINUTES))
        assert con.execute("select tick_ms from pipeline.window_minutes").fetchall() == []
        assert state(con)["seeds"] == "as they are"
        assert con.execute("from pipeline.late_rows").fetchall() == [(1, MINUTES[0], "m", "BTC")]
        assert con.execute("from pipeline.late_ranges").fetchall() == [
            (1, 3_600_000, "m", "BTC", MINUTES[0], MINUTES[0] + 7_200_000)
        ]
        assert next_window(con, landed.landing) is None
