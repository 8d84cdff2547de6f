"""What the installation makes: a first build begins with it and has the same rows as without, and not with what does
not fit."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse import installed
from orchestration.warehouse.dbt_runner import process
from orchestration.warehouse.dbt_runner.process import PARSED, place_hash
from orchestration.warehouse.installed import begin_installed, prepare_installation
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import connection
from tests.support.pipeline.equal_rows import differing, every_table
from tests.support.pipeline.landed import quiet, ready_to_build
from tests.support.pipeline.pipeline_home import settings_for
from tests.support.pipeline.warehouse import STAMPS


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an installation that is prepared."""
    folder = tmp_path_factory.mktemp("project") / "installed"
    with pytest.MonkeyPatch.context() as patch:
        for module in (process, installed):
            patch.setattr(module, "INSTALLED", folder)
        assert prepare_installation(quiet)
        yield folder


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    settings = settings_for(tmp_path / "home")
    settings.home.mkdir()
    settings.dbt_target.mkdir(parents=True)
    return settings


def test_a_first_build_begins_with_it_and_has_the_same_rows(
    installation: Path, landed: Settings, home: Settings, tmp_path: Path
) -> None:
    said = list[str]()
    settings = replace(home, landing=landed.landing)
    assert build(settings, report=said.append) is not None
    assert not [text for text in said if "reading" in text]
    # dbt has not read the project again either.
    assert place_hash(settings.warehouse).encode() in (settings.dbt_target / PARSED[1]).read_bytes()
    other = ready_to_build(landed, tmp_path / "other")
    assert build(other, report=quiet) is not None
    assert differing(settings.warehouse, other.warehouse, {"*": STAMPS}, every_table) == {}
    with connection(settings.warehouse, read_only=True) as con, connection(other.warehouse, read_only=True) as same:
        query = "select model from pipeline.compiled order by 1"
        assert con.execute(query).fetchall() == same.execute(query).fetchall()


def test_it_is_made_once(installation: Path) -> None:
    assert not prepare_installation(quiet)


@pytest.mark.parametrize("what", ["a warehouse", "a log of a warehouse", "another name", "other files"])
def test_what_does_not_fit_is_left_alone(what: str, installation: Path, home: Settings) -> None:
    settings = home
    if what == "another name":
        settings = replace(home, warehouse=str(home.home / "mine.duckdb"))
    elif what == "other files":
        stated = installation / PARSED[-1]
        before = stated.read_text()
        stated.write_text(before.replace("macros/window.sql ", "macros/window.sql 1"))
    else:
        Path(home.warehouse + (".wal" if what == "a log of a warehouse" else "")).write_text("mine")
    begin_installed(settings)
    if what == "other files":
        stated.write_text(before)
    found = sorted(file.name for file in home.home.iterdir() if file.is_file())
    expected = {"a warehouse": ["warehouse.duckdb"], "a log of a warehouse": ["warehouse.duckdb.wal"]}
    assert found == expected.get(what, [])
    assert all((home.home / name).read_text() == "mine" for name in found)
