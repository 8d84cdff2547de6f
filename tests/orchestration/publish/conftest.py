"""Warehouses whose marts have one built minute: everything that is served, or a few tables of each kind."""

from pathlib import Path

import pytest

from tests.support.pipeline.marts import FEW, T0, MartWarehouse


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
