"""The timeline of an edition, of the warehouse that it was published from."""

import duckdb

from orchestration.publish.timeline import Timeline, read_timeline
from orchestration.warehouse.watermark import prepare


def test_a_timeline_has_each_step_that_is_known() -> None:
    with duckdb.connect() as con:
        prepare(con)
        empty = read_timeline(con, published_ms=9_000, pointed_ms=9_500)
        assert empty == Timeline(published=9_000, pointed=9_500)
        assert empty.seconds() == {}
        con.execute("insert into pipeline.builds values (2, 68000, 74500, 63900, [0, 60000], [0, 60000])")
        con.execute("insert into pipeline.loads values ('64.5', 'a', 0, 60000, 30, 2), ('61.25', 'b', 0, 0, 5, 2)")
        # Minutes that were built again since belong to no load.
        con.execute("insert into pipeline.builds values (3, 80000, 81000, 63900, [0], [0])")
        con.execute(
            "insert into pipeline.model_times values ('series', 69000, 71500), ('raw_window', 68100, 68350), "
            "('markets', 71500, 71500)"
        )
        timeline = read_timeline(con, published_ms=82_000, pointed_ms=83_250, run_started_ms=42_000)
    assert timeline.rows == 35
    assert timeline.models == (("raw_window", 0.25), ("series", 2.5), ("markets", 0.0))
    assert dict(timeline.stages()) == {
        "minute": 60, "received": 63.9, "landed": 64.5, "run_started": 42, "build_started": 68, "built": 74.5,
        "published": 82, "pointed": 83.25,
    }  # fmt: skip
    # A run is begun before its minute.
    assert timeline.seconds() == {
        "received": 3.9, "landed": 4.5, "run_started": -18, "build_started": 8, "built": 14.5, "published": 22,
        "pointed": 23.25,
    }  # fmt: skip
