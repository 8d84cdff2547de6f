"""Windows: how much of the landing one build takes, and which older loads it reads again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.landing.loads import committed_loads
from orchestration.config.settings import Settings
from orchestration.warehouse.watermark import close_window, open_window, prepare
from orchestration.warehouse.windows import PAST_WEIGHT, file_minutes, next_window, waiting_loads, window_again
from tests.support.pipeline.landed import MINUTES, copied_home, load_files, note_built
from tests.support.pipeline.pipeline_home import (
    MINUTE,
    T0,
    land_minutes,
    land_rows,
    minute_rows,
    past_rows,
    settings_for,
)


@contextmanager
def pipeline() -> Iterator[duckdb.DuckDBPyConnection]:
    """The pipeline's tables, and what a closed window reads of the models."""
    with duckdb.connect() as con:
        prepare(con)
        con.execute("create table main.int_touched_minutes (minute_ms bigint)")
        con.execute(
            "create table main.touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar)"
        )
        yield con


def planned(settings: Settings, **bounds: Any) -> list[tuple[int, ...]]:
    """The windows that would be built from nothing, as if each had been."""
    windows = []
    with pipeline() as con:
        while window := next_window(con, settings.landing, **bounds):
            windows.append(window.minutes)
            close_window(con, window)
    return windows


def test_windows_are_bounded_by_minutes_and_by_bytes(landed: Settings) -> None:
    assert planned(landed) == [tuple(MINUTES)]
    assert planned(landed, max_minutes=3) == [tuple(MINUTES[:3]), tuple(MINUTES[3:])]
    assert planned(landed, max_bytes=1) == [(minute,) for minute in MINUTES]


def test_backfilled_rows_count_several_times(tmp_path: Path) -> None:
    """They need that much more memory than recorded responses of the same size."""
    recorded, past = (settings_for(tmp_path / name) for name in ("recorded", "past"))
    minutes = [T0, T0 + MINUTE]
    land_minutes(recorded, minutes)
    for minute in minutes:
        land_rows(past, past_rows(minute))

    def alone(settings: Settings) -> int:
        """The least bound that takes both minutes at once."""
        low, high = 1, 10**9
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if planned(settings, max_bytes=middle) == [tuple(minutes)] else (middle, high)
        return high

    for settings, weight in ((recorded, 1), (past, PAST_WEIGHT)):
        with duckdb.connect() as con:
            held = file_minutes(con, committed_loads(settings.landing))
        assert alone(settings) == pytest.approx(weight * sum(part.bytes for part in held), abs=1)


def test_a_bounded_window_ends_with_a_block(tmp_path: Path) -> None:
    """A compacted file is read by whole blocks. Without one in the bounds, the window has what they allow."""
    settings = settings_for(tmp_path)
    land_minutes(settings, [T0 + n * MINUTE for n in (7, 8, 9, 10, 11, 12, 13)])
    seen = [[(minute - T0) // MINUTE for minute in window] for window in planned(settings, max_minutes=5)]
    assert seen == [[7, 8, 9], [10, 11, 12, 13]]
    seen = [[(minute - T0) // MINUTE for minute in window] for window in planned(settings, max_minutes=2)]
    assert seen == [[7, 8], [9], [10, 11], [12, 13]]


def test_late_bars_wait_for_the_fourth_minute_of_each_ten(tmp_path: Path) -> None:
    """The first window restates its own, as does the first one after a gap, which brings what was missed."""
    settings = settings_for(tmp_path)
    seen = list[tuple[list[int], bool, list[int]]]()
    with pipeline() as con:
        for minutes in ([0], [1], [1, 2], [3], [3, 4], [4, 5], [6], [9], [10], [11]):
            land_minutes(settings, [T0 + minute * MINUTE for minute in minutes])
            window = next_window(con, settings.landing)
            assert window is not None
            open_window(con, window)
            close_window(con, window)
            built, late = ([(at - T0) // MINUTE for at in times] for times in (window.minutes, window.late))
            seen.append((built, window.late_waits, late))
        assert con.execute("select tick_ms, due from pipeline.late_minutes order by 1").fetchall() == [
            (T0 + 10 * MINUTE, False),
            (T0 + 11 * MINUTE, False),
        ]
        again = window_again(con, settings.landing, [T0 + 10 * MINUTE])
        assert (again.late_waits, again.late) == (False, ())
    assert T0 % (10 * MINUTE) == 0
    assert seen == [
        ([0], False, []),
        ([1], True, []),
        ([1, 2], True, []),
        ([3], True, []),
        ([3, 4], False, [1, 2, 3]),
        ([4, 5], True, []),
        ([6], True, []),
        ([9], False, [4, 5, 6]),
        ([10], True, []),
        ([11], True, []),
    ]


def test_backfilled_rows_leave_late_bars_waiting(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with pipeline() as con:
        con.execute("insert into pipeline.builds values (1, 0, 0, 0, [?], [])", [T0])
        con.execute("insert into pipeline.late_minutes values (?, false)", [T0])
        land_rows(settings, past_rows(T0 + 30 * MINUTE))
        window = next_window(con, settings.landing, which="past")
        assert window is not None
        assert (window.backfilled_only, window.late_waits, window.late) == (True, False, ())
        open_window(con, window)
        close_window(con, window)
        assert con.execute("from pipeline.late_minutes").fetchall() == [(T0, False)]


def test_a_window_holds_older_loads_with_rows_of_its_minutes(landed: Settings, tmp_path: Path) -> None:
    settings = copied_home(landed, tmp_path)
    with duckdb.connect() as con:
        prepare(con)
        for load, at in zip(load_files(settings), MINUTES, strict=True):
            con.execute("insert into pipeline.loads values (?, ?, ?, ?, 1, 1)", [load[0], load[1], at, at])
        assert next_window(con, settings.landing) is None
        land_minutes(settings, [MINUTES[1]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert window.minutes == (MINUTES[1],)
    assert len(window.files) == 2
    assert load_files(settings)[1][1] in window.files


def test_backfilled_rows_of_a_minute_are_read_again_only_of_venues_with_more_of_them(
    landed: Settings, tmp_path: Path
) -> None:
    settings = copied_home(landed, tmp_path)
    with duckdb.connect() as con:
        prepare(con)
        note_built(con, settings)
        con.execute("create table main.int_response_minutes (tick_ms bigint, venue varchar, endpoint varchar)")
        fetched = [(at, venue, "perp_bars_history") for at in MINUTES for venue in ("binance", "elsewhere")]
        con.executemany("insert into main.int_response_minutes values (?, ?, ?)", fetched)
        con.execute("insert into main.int_response_minutes values (?, 'recorded', 'perp_bars')", [MINUTES[1]])
        land_minutes(settings, [MINUTES[1]])
        window = next_window(con, settings.landing)
        assert window is not None
        # What was recorded of a venue arrives minute after minute, and changes nothing in what was fetched of it.
        assert window.built == ((MINUTES[1], "binance"), (MINUTES[1], "elsewhere"))
        land_rows(settings, past_rows(MINUTES[1]))
        window = next_window(con, settings.landing)
        assert window is not None
        assert window.built == ((MINUTES[1], "elsewhere"),)
        assert window_again(con, settings.landing, MINUTES).built == ()
        con.execute("insert into pipeline.settings values ('trimmed_before_ms', ?)", [str(T0 + 86_400_000)])
        whole_day = next_window(con, settings.landing)
    assert whole_day is not None
    assert whole_day.built == ()


def test_the_past_waits_for_what_was_recorded(tmp_path: Path) -> None:
    """Without the past a window has neither its rows nor its files, and says that it waits. A window of the past has
    nothing else: what was recorded in its minutes is not read again, and what was recorded meanwhile waits."""
    settings = settings_for(tmp_path)
    land_rows(settings, past_rows(T0))
    with pipeline() as con:
        assert next_window(con, settings.landing, which="recorded") is None
        land_minutes(settings, [T0])
        recorded = next_window(con, settings.landing, which="recorded")
        assert recorded is not None
        assert (recorded.minutes, len(recorded.files), recorded.more, recorded.past) == ((T0,), 1, False, True)
        assert (recorded.past_minutes, recorded.backfilled_only) == ((), False)
        close_window(con, recorded)
        assert next_window(con, settings.landing, which="recorded") is None
        land_minutes(settings, [T0 + MINUTE])
        past = next_window(con, settings.landing, which="past")
        assert past is not None
        assert (past.minutes, len(past.files), past.more, past.past) == ((T0,), 1, False, False)
        assert (past.past_minutes, past.backfilled_only) == ((T0,), True)
        close_window(con, past)
        assert next_window(con, settings.landing, which="past") is None, "nothing but recorded rows waits"
        recorded = next_window(con, settings.landing, which="recorded")
    assert recorded is not None
    assert (recorded.minutes, recorded.past) == ((T0 + MINUTE,), False)


def test_a_window_of_everything_reads_what_was_recorded_and_what_was_fetched(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    land_rows(settings, past_rows(T0))
    land_minutes(settings, [T0, T0 + MINUTE])
    with pipeline() as con:
        window = next_window(con, settings.landing)
    assert window is not None
    assert (window.minutes, window.past_minutes, window.backfilled_only) == ((T0, T0 + MINUTE), (T0,), False)


def test_more_of_the_past_is_read_with_the_files_that_its_minute_has_of_it(tmp_path: Path) -> None:
    """Its minute's earlier backfilled rows may belong to the same venue; of what was recorded no file is opened."""
    settings = settings_for(tmp_path)
    land_minutes(settings, [T0])
    land_rows(settings, past_rows(T0))
    with pipeline() as con:
        for which in ("recorded", "past"):
            window = next_window(con, settings.landing, which=which)
            assert window is not None
            close_window(con, window)
        land_rows(settings, past_rows(T0))
        past = next_window(con, settings.landing, which="past")
    assert past is not None
    assert (past.minutes, len(past.files), past.backfilled_only) == ((T0,), 2, True)


def test_a_load_with_recorded_and_backfilled_rows_is_recorded(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    land_rows(settings, past_rows(T0) + minute_rows(T0))
    with pipeline() as con:
        assert next_window(con, settings.landing, which="past") is None
        window = next_window(con, settings.landing, which="recorded")
    assert window is not None
    assert (window.minutes, len(window.finished), window.past) == ((T0,), 1, False)


def test_a_load_of_the_past_that_is_built_in_part_goes_on_after_recorded_minutes(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    land_rows(settings, past_rows(T0) + past_rows(T0 + MINUTE))
    with pipeline() as con:
        first = next_window(con, settings.landing, max_minutes=1, which="past")
        assert first is not None
        close_window(con, first)
        land_minutes(settings, [T0 + 2 * MINUTE])
        recorded = next_window(con, settings.landing, which="recorded")
        assert recorded is not None
        close_window(con, recorded)
        last = next_window(con, settings.landing, which="past")
    assert last is not None
    assert (first.minutes, first.more, last.minutes) == ((T0,), True, (T0 + MINUTE,))


def test_a_window_of_a_trimmed_day_takes_the_whole_day(landed: Settings, tmp_path: Path) -> None:
    """Where the fine tables are trimmed, a late row's day is built from all of its minutes."""
    settings = copied_home(landed, tmp_path)
    with duckdb.connect() as con:
        prepare(con)
        for load, at in zip(load_files(settings), MINUTES, strict=True):
            con.execute("insert into pipeline.loads values (?, ?, ?, ?, 1, 1)", [load[0], load[1], at, at])
        con.execute("insert into pipeline.settings values ('trimmed_before_ms', ?)", [str(T0 + 86_400_000)])
        land_minutes(settings, [MINUTES[1]])
        window = next_window(con, settings.landing)
    assert window is not None
    assert window.minutes == tuple(MINUTES)


def test_loads_are_found_after_a_clock_that_was_ahead(landed: Settings, tmp_path: Path) -> None:
    """Its ids are in the future, and so is its list of all loads: what came before that list is looked for again."""
    settings = copied_home(landed, tmp_path)
    ahead = time.time() + 40 * 86_400
    oldest, *_, new = (load_id for load_id, _ in load_files(settings))
    old = f"{time.time() - 86_400:.7f}"
    for file in list(Path(settings.landing).rglob(f"*{oldest}*")):
        file.rename(file.with_name(file.name.replace(oldest, old)))
    with duckdb.connect() as con:
        prepare(con)
        con.execute("insert into pipeline.loads values (?, null, null, null, 0, 1)", [f"{ahead:.7f}"])
        con.execute("insert into pipeline.settings values ('listed_ms', ?)", [str(int(ahead * 1000))])
        assert {load.load_id for load in waiting_loads(con, settings.landing)} >= {old, new}
        # From now on only the newest are looked for.
        assert new in {load.load_id for load in waiting_loads(con, settings.landing)}
        assert old not in {load.load_id for load in waiting_loads(con, settings.landing)}


def _loads(settings: Settings) -> list[tuple[str, str]]:
    return [(load.load_id, load.files[0]) for load in committed_loads(settings.landing)]
