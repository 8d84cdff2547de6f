"""Homes that pass every check, and one with faults in its minutes."""

import pytest

from tests.support.pipeline.quality_faults import MINUTE_FAULTS, Outcomes, broken
from tests.support.pipeline.quality_home import QualityHome
from tests.support.start import start_ms


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> QualityHome:
    home = QualityHome(tmp_path_factory.mktemp("clean"), start_ms())
    home.land_normally()
    return home


@pytest.fixture(scope="session")
def minutes(clean: QualityHome, tmp_path_factory: pytest.TempPathFactory) -> tuple[QualityHome, Outcomes]:
    home = broken(clean, tmp_path_factory.mktemp("minutes"), MINUTE_FAULTS)
    return home, home.check("hourly")
