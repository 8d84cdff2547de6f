"""A home with the parsed project, and the dbt that is kept ready for it."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.dbt_server import wait_until


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    # Longer than the path of a socket may be.
    home = tmp_path_factory.mktemp("dbt") / ("long" * 30)
    settings = Settings.from_env({"TIDEMARK_HOME": str(home)})
    give_parsed(settings)
    return settings


@pytest.fixture(scope="module")
def server(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """The dbt of all tests of a file: each leaves it as it was, without a run."""
    prepare_manifest(settings)
    environment = os.environ | settings.environ()
    process = subprocess.Popen([sys.executable, "-m", "orchestration.cli", "dbt-server"], env=environment)
    wait_until((settings.dbt_target.parent / "dbt.sock").exists)
    yield process
    process.terminate()
    process.wait(30)
