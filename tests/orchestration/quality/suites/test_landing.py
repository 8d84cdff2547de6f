"""Checks of the landing: requests that go back in time, and a venue that no longer answers."""

from collections.abc import Callable
from pathlib import Path

from tests.support.pipeline.quality_faults import assert_reported_and_marked
from tests.support.pipeline.quality_home import MINUTE, QualityHome


def test_the_landing(clean: QualityHome, tmp_path: Path) -> None:
    newest = clean.newest_ms
    times: Callable[[int], int] = lambda minute: minute + 1000 - (30 * MINUTE if minute == newest else 0)  # noqa: E731
    home = QualityHome(tmp_path / "back", newest)
    home.land([newest - n * MINUTE for n in range(90, -1, -1)], requested_ms=times)
    assert_reported_and_marked(
        home, home.check(), "responses_go_forward_in_time", "binance", None, "^perp_tickers : asked at", "not before"
    )
    home = QualityHome(tmp_path / "silent", newest)
    home.land([newest - n * MINUTE for n in range(90, 71, -1)])
    home.land([newest - n * MINUTE for n in range(69, -1, -1)], status=503, error="HTTP 503")
    failed = home.check()
    assert set(failed) == {"every_kind_is_answered_as_yesterday"}
    assert_reported_and_marked(
        home, failed, "every_kind_is_answered_as_yesterday", "binance", None,
        "^perp_tickers: 70 requests, none answered", "answered, as in",
    )  # fmt: skip
