"""A warehouse whose marts have one built minute."""

from pathlib import Path

import pytest

from tests.support.pipeline.marts import T0, MartWarehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> MartWarehouse:
    made = MartWarehouse(tmp_path)
    made.build(T0)
    return made
