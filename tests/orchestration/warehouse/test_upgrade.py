"""A warehouse of another version: new columns come without a rebuild, a later version's warehouse is refused."""

from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse.transform import build
from orchestration.warehouse.upgrade import check_version, this_version
from orchestration.warehouse.writer import PipelineError, connection
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with one built and published minute."""
    settings = settings_for(tmp_path_factory.mktemp("upgrade") / "home")
    give_parsed(settings)
    land_minutes(settings, (T0,))
    build(settings, report=quiet)
    publish(settings, report=quiet)
    return settings


def test_a_column_that_is_new_is_added_and_one_that_is_gone_is_dropped(settings: Settings) -> None:
    with connection(settings.warehouse) as con:
        con.execute("alter table series_market_1m drop column oi_usd")
        con.execute("alter table int_market_minutes add column former integer")
        con.execute("update pipeline.settings set value = 'of another version' where name = 'project'")
    # Far enough that the first minute is not made again.
    land_minutes(settings, (T0 + 30 * MINUTE,))
    said: list[str] = []
    assert build(settings, report=said.append) is not None
    assert "series_market_1m has the new column oi_usd: unknown in what was built before" in said
    assert "int_market_minutes has no column former any more" in said
    with connection(settings.warehouse, read_only=True) as con:
        query = "select t, count(oi_usd) > 0 from series_market_1m where t in (?, ?) group by 1 order by 1"
        known = con.execute(query, [T0, T0 + 30 * MINUTE]).fetchall()
        columns = [row[0] for row in con.execute("describe int_market_minutes").fetchall()]
    assert known == [(T0, False), (T0 + 30 * MINUTE, True)]
    assert "former" not in columns
    assert publish(settings, report=quiet) is not None
    said.clear()
    land_minutes(settings, (T0 + 31 * MINUTE,))
    build(settings, report=said.append)
    assert not any("column" in line for line in said), "only when the project has changed"


def test_the_warehouse_of_a_later_version_is_refused_and_can_be_made_again(settings: Settings) -> None:
    with connection(settings.warehouse) as con:
        con.execute("insert or replace into pipeline.settings values ('version', '99.1.0')")
    land_minutes(settings, (T0 + 32 * MINUTE,))
    with pytest.raises(PipelineError, match=r"built by version 99\.1\.0, and this is .*install 99\.1\.0 or later"):
        build(settings, report=quiet)
    rebuilt = build(settings, rebuild=True, report=quiet)
    assert rebuilt is not None
    assert rebuilt.minutes == 4
    with connection(settings.warehouse, read_only=True) as con:
        [(version,)] = con.execute("select value from pipeline.settings where name = 'version'").fetchall()
    assert version == this_version()


@pytest.mark.parametrize(("theirs", "refused"), [("", False), ("0.0.9", False), ("0.1.0", False), ("0.10.0", True)])
def test_versions_are_compared_by_their_numbers(theirs: str, refused: bool, tmp_path: Path) -> None:
    assert this_version() == "0.1.0"
    if refused:
        with pytest.raises(PipelineError):
            check_version({"version": theirs})
    else:
        check_version({"version": theirs})
