"""A minute that is published when its window is closed, in dbt's own process."""

import shutil
from pathlib import Path

import duckdb

from orchestration.config.settings import Settings
from orchestration.publish.at_once import published_at_once
from orchestration.publish.edition import read_current
from orchestration.publish.publish import publish
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.dbt_runner.process import run_dbt
from orchestration.warehouse.transform import OpenWindow, build, windows_to_build
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, run, settings_for, tables
from tests.support.pipeline.warehouse import give_built


def build_minute(settings: Settings, minute: int, at_once: bool = False) -> None:
    land_minutes(settings, [T0 + minute * MINUTE])
    assert build(settings, publish=at_once, report=quiet) is not None


def assert_served(settings: Settings, edition_id: int, minute: int) -> None:
    """This edition is served, it has this minute's rows, and they are those of the warehouse."""
    current = read_current(settings.serving)
    assert current is not None
    assert (current["edition_id"], current["as_of_ms"] // MINUTE) == (edition_id, T0 // MINUTE + minute)
    names = ("series_market_1m", "series_base_1m", "series_market_1h", "markets", "gaps")
    assert tables(str(settings.serving / current["replica"]), names) == tables(settings.warehouse, names)


def test_a_minute_is_served_when_its_build_returns(settings: Settings) -> None:
    for minute in (2, 3, 4):
        build_minute(settings, minute, at_once=True)
        assert_served(settings, minute + 1, minute)
        assert publish(settings, report=quiet) is None, "there is nothing new"
    assert (settings.metrics / "pipeline.prom").read_text().count('stage="pointed"') == 1
    build_minute(settings, 5)
    assert publish(settings, report=quiet) is not None
    assert_served(settings, 6, 5)


def test_who_opened_the_window_learns_of_the_edition(settings: Settings) -> None:
    land_minutes(settings, [T0 + 2 * MINUTE])
    opened = list[OpenWindow]()
    with warehouse_lock(settings, "build", report=quiet) as lock:
        for one in windows_to_build(settings, publish=True, run_started_ms=T0 + 5.0, report=quiet):
            run_dbt(settings, one.arguments, lock=lock, closing=one.closing)
            opened.append(one)
    [window] = opened
    found = published_at_once(window.closed)
    assert found is not None
    edition, timeline = found
    assert (edition.edition_id, edition.replica, timeline.run_started) == (3, "replica_a.duckdb", T0 + 5.0)
    assert edition.published_ms <= (timeline.pointed or 0)
    assert {"raw_window", "series_market_1m"} <= {name for name, _ in timeline.models}
    assert published_at_once(None) is None


def test_the_command_publishes_in_one_way_or_the_other(settings: Settings) -> None:
    land_minutes(settings, [T0 + 2 * MINUTE])
    assert lines(settings)[-2:] == ["1 minutes of 1 loads", "edition 3"]
    assert_served(settings, 3, 2)
    build_minute(settings, 3)
    assert lines(settings)[-2:] == ["nothing waits to be built", "edition 4"]
    assert lines(settings)[-2:] == ["nothing waits to be built", "nothing new to publish"]


def lines(settings: Settings) -> list[str]:
    """What `tidemark build --publish` prints."""
    return run(settings, "build", "--publish").splitlines()


def test_what_a_reader_holds_is_published_after_the_build(settings: Settings) -> None:
    with duckdb.connect(str(settings.serving / "replica_a.duckdb"), read_only=True):
        build_minute(settings, 2, at_once=True)
        current = read_current(settings.serving)
        assert current is not None
        assert current["edition_id"] == 2
    assert publish(settings, report=quiet) is not None
    assert_served(settings, 3, 2)


def test_the_first_edition_of_all_is_published_at_once_and_the_second_as_its_copy(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    give_dbt(settings)
    give_built(settings)
    build_minute(settings, 0, at_once=True)
    assert_served(settings, 1, 0)
    build_minute(settings, 1, at_once=True)
    assert not (settings.serving / "replica_b.duckdb").exists()
    assert publish(settings, report=quiet) is not None
    assert_served(settings, 2, 1)


def test_an_edition_whose_build_was_lost_is_followed_by_one_of_the_build_that_is_done_again(settings: Settings) -> None:
    """The process died after the publish, before what it built was in the warehouse's file."""
    kept = settings.home / "kept"
    shutil.copy(settings.warehouse, kept)
    build_minute(settings, 2, at_once=True)
    assert_served(settings, 3, 2)
    Path(f"{settings.warehouse}.wal").unlink(missing_ok=True)
    kept.replace(settings.warehouse)
    assert build(settings, publish=True, report=quiet) is not None
    assert_served(settings, 4, 2)
    for minute in (3, 4):
        build_minute(settings, minute, at_once=True)
        publish(settings, report=quiet)
        assert_served(settings, minute + 2, minute)
