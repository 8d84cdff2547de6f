"""A home with the parsed project, and the dbt that is kept ready for it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.dbt_server import wait_until


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    # Longer than the path of a socket may be.
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / ("long" * 30)))
    settings = Settings.from_env()
    give_parsed(settings)
    return settings


@pytest.fixture
def server(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    prepare_manifest(settings)
    process = subprocess.Popen([sys.executable, "-m", "orchestration.cli", "dbt-server"])
    wait_until((settings.dbt_target.parent / "dbt.sock").exists)
    yield process
    process.terminate()
    process.wait(30)
