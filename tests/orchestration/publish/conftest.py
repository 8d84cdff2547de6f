"""Warehouses whose marts have one built minute: everything that is served, or a few tables of each kind; and a home."""

from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse.transform import build
from tests.support.pipeline import pipeline_home
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.marts import FEW, T0, MartWarehouse
from tests.support.pipeline.warehouse import give_built


@pytest.fixture
def warehouse(tmp_path: Path) -> MartWarehouse:
    made = MartWarehouse(tmp_path)
    made.build(T0)
    return made


@pytest.fixture
def few(tmp_path: Path) -> MartWarehouse:
    """A warehouse of few tables, for what does not depend on how many there are."""
    made = MartWarehouse(tmp_path, FEW)
    made.build(T0)
    return made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home with two minutes, published each in its own replica."""
    settings = pipeline_home.settings_for(tmp_path / "home")
    give_dbt(settings)
    give_built(settings)
    for minute in range(2):
        pipeline_home.land_minutes(settings, [pipeline_home.T0 + minute * pipeline_home.MINUTE])
        assert build(settings, report=quiet) is not None
        assert publish(settings, report=quiet) is not None
    return settings
