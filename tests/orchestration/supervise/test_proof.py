"""The warehouse proves itself, as a file and as a lake, and what is wrong with it is named."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from orchestration.config.places import LAKE
from orchestration.config.settings import Settings
from orchestration.supervise import proof
from orchestration.supervise.doctor import FAILURE, OK
from orchestration.supervise.proof import SCHEMA, warehouse_findings
from orchestration.warehouse.access import open_warehouse
from tests.support.pipeline.pipeline_home import settings_for
from tests.support.servers.postgres_server import PASSWORD, Postgres


@pytest.fixture(params=["file", "lake"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    near = settings_for(tmp_path)
    if request.param == "file":
        duckdb.connect(near.warehouse).close()
        return near
    postgres: Postgres = request.getfixturevalue("postgres")
    catalog = LAKE + postgres.connection(postgres.database())
    return replace(near, warehouse=catalog, lake_data=str(tmp_path / "rows"))


def test_a_warehouse_that_works_is_left_as_it_was(settings: Settings) -> None:
    found = list(warehouse_findings(settings))
    assert [(one.about, one.state) for one in found] == [("one writer", OK), ("tables", OK), ("as read", OK)], found
    with open_warehouse(settings) as con:
        schemas = "select schema_name from duckdb_schemas() where database_name = current_database()"
        assert SCHEMA not in {name for (name,) in con.execute(schemas).fetchall()}


def test_what_does_not_work_is_named_and_cleared_away(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MERGE", f"update {SCHEMA}.nothing set t = 1")
    found = list(warehouse_findings(settings))
    assert [one.state for one in found] == [OK, FAILURE]
    assert "nothing" in found[1].text
    monkeypatch.setattr(proof, "MERGE", f"update {SCHEMA}.rows set value = 7")
    assert "written and read back" in list(warehouse_findings(settings))[1].text
    monkeypatch.undo()
    assert [one.state for one in warehouse_findings(settings)] == [OK] * 3


def test_a_catalog_that_refuses_is_a_finding(postgres: Postgres, tmp_path: Path) -> None:
    catalog = LAKE + postgres.connection("not_there")
    [found] = warehouse_findings(replace(settings_for(tmp_path), warehouse=catalog))
    assert found.state == FAILURE
    assert 'database "not_there" does not exist' in found.text
    assert PASSWORD not in found.text


def test_a_file_that_is_not_there_is_made_by_the_first_build(tmp_path: Path) -> None:
    [found] = warehouse_findings(settings_for(tmp_path))
    assert found.state == OK
    assert not Path(settings_for(tmp_path).warehouse).exists()
