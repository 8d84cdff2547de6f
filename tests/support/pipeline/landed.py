"""Homes with landed minutes: copied, or noted as built without a run of dbt."""

import shutil
from pathlib import Path

import duckdb

from ingest.landing.loads import committed_loads
from orchestration.config.settings import Settings
from orchestration.warehouse.windows import next_window
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import MINUTE, T0, settings_for
from tests.support.pipeline.warehouse import give_built

# The minutes of the shared landing.
MINUTES = [T0 + n * MINUTE for n in range(4)]


def note_built(con: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """The watermark of everything that waits, without the models."""
    window = next_window(con, settings.landing)
    assert window is not None
    for row in window.finished:
        con.execute("insert into pipeline.loads values (?, ?, ?, ?, ?, 1)", list(row))


def load_files(settings: Settings) -> list[tuple[str, str]]:
    """Each committed load with its first file."""
    return [(load.load_id, load.files[0]) for load in committed_loads(settings.landing)]


def quiet(_: str) -> None:
    """No progress lines."""


def copied_home(settings: Settings, home: Path) -> Settings:
    """A home of its own with everything that another one has."""
    shutil.copytree(settings.home, home, symlinks=True, dirs_exist_ok=True)
    return settings_for(home)


def ready_to_build(settings: Settings, home: Path) -> Settings:
    """A copy with the project read, and a warehouse without rows where none was built."""
    copy = copied_home(settings, home)
    give_dbt(copy)
    give_built(copy)
    return copy
