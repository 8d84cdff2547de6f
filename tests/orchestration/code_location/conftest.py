"""The definitions of a home whose warehouse is built over nothing, and an instance for them: one home a module, since
what one module lands and publishes would be another's past."""

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest

from orchestration.config.settings import REPOSITORY, Settings
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import settings_for
from tests.support.pipeline.warehouse import give_built


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = settings_for(tmp_path_factory.mktemp("dagster_home"))
    give_dbt(settings)
    give_built(settings)
    return settings


@pytest.fixture(scope="module")
def definitions(settings: Settings) -> ModuleType:
    """The definitions of this home, as a code server loads them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.environ().items():
            patch.setenv(name, value)
        return importlib.reload(importlib.import_module("orchestration.code_location.definitions"))


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """An instance with the committed configuration."""
    settings.dagster_home.mkdir(parents=True, exist_ok=True)
    shutil.copy(REPOSITORY / "orchestration/code_location/dagster.yaml", settings.dagster_home)
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as made:
        yield made


@pytest.fixture
def said(settings: Settings, tmp_path: Path) -> Callable[..., list[str]]:
    """Runs a script with the home's settings; the lines that it prints, and its errors if it fails."""

    def run(code: str, *words: str) -> list[str]:
        file = tmp_path / "script.py"
        file.write_text(code)
        env = {**os.environ, **settings.environ(), "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(
            [sys.executable, file, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        return [*done.stdout.splitlines(), *([done.stderr] if done.returncode else [])]

    return run
