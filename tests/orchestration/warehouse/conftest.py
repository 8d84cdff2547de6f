"""Homes with landed minutes: none of them built, or noted as built without a run of dbt."""

from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.writer import connection
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.landed import MINUTES, copied_home, note_built
from tests.support.pipeline.pipeline_home import land_minutes, settings_for


@pytest.fixture(scope="session")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with four landed minutes, nothing built. A test that changes it takes a copy."""
    settings = settings_for(tmp_path_factory.mktemp("landed"))
    land_minutes(settings, MINUTES)
    return settings


@pytest.fixture
def settings(landed: Settings, tmp_path: Path) -> Settings:
    """The landed minutes, noted as built."""
    settings = copied_home(landed, tmp_path)
    give_parsed(settings)
    with connection(settings.warehouse) as con:
        prepare(con)
        note_built(con, settings)
    return settings
