"""Checks of the days: each injected fault is named with venue, market and value, and marked."""

import pytest

from tests.support.pipeline.quality_faults import DAY_FAULTS, Outcomes, assert_reported_and_marked, broken
from tests.support.pipeline.quality_home import QualityHome


@pytest.fixture(scope="session")
def days(clean: QualityHome, tmp_path_factory: pytest.TempPathFactory) -> tuple[QualityHome, Outcomes]:
    home = broken(clean, tmp_path_factory.mktemp("days"), DAY_FAULTS)
    return home, home.check("daily")


@pytest.mark.parametrize("fault", DAY_FAULTS)
def test_a_fault_in_the_days_is_named_and_marked(days: tuple[QualityHome, Outcomes], fault: str) -> None:
    _, check, venue, market, value, expected = DAY_FAULTS[fault]
    assert_reported_and_marked(*days, check, venue, market, value, expected)
