"""The facts that checks look at: how old they are, and the period of a run."""

import os
from pathlib import Path

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.publish.edition import NothingPublishedError
from orchestration.quality.facts import collect
from tests.support.pipeline.quality_faults import assert_reported_and_marked
from tests.support.pipeline.quality_home import MINUTE, VENUES, QualityHome


def test_stale_data_fails_the_freshness_checks(clean: QualityHome, tmp_path: Path) -> None:
    home = QualityHome(tmp_path, clean.newest_ms)
    home.land_normally()
    home.now_ms += 10 * MINUTE
    failed = home.check()
    assert set(failed) == {"markets_are_fresh", "every_venue_responds"}
    for check in failed:
        assert list(failed[check]["venues"]) == sorted(VENUES)
        assert_reported_and_marked(home, failed, check, "okx", None, r"\d+ s old$", "at most 300 s old")


def test_nothing_is_checked_before_the_first_publish(tmp_path: Path) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path)})
    with pytest.raises(NothingPublishedError, match="nothing has been published in"):
        collect(settings, "hourly")


def test_a_period_is_copied_and_what_a_killed_run_left_is_removed(clean: QualityHome) -> None:
    newest, folder = clean.newest_ms, clean.settings.quality
    folder.mkdir(parents=True, exist_ok=True)
    left = folder / "facts_hourly_1.duckdb"
    left.write_text("of a run that was killed")
    os.utime(left, (0, 0))
    copied, span = collect(clean.settings, "hourly", clean.now_ms)
    assert not left.exists()
    assert (span.from_ms, span.to_ms, span.now_ms) == (newest - 69 * MINUTE, newest + MINUTE, clean.now_ms)
    with duckdb.connect(str(copied), read_only=True) as con:
        assert con.execute("select min(t), max(t) from minutes").fetchall() == [(span.from_ms, newest)]
        assert con.execute("select distinct venue from responses order by 1").fetchall() == [
            (venue,) for venue in sorted(VENUES)
        ]
        # Every venue has one voice in a median, and every coin its venues.
        assert con.execute("select distinct venues from coins").fetchall() == [(len(VENUES),)]
    copied.unlink()
