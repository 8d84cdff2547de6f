"""A rebuild beside the product: it has the rows of the incremental builds, continues after a kill, lets minutes go on,
and replaces the warehouse once."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from orchestration.config import locks
from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse import closing, transform
from orchestration.warehouse import rebuild as rebuilding
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.rebuild import beside, rebuild
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import PipelineError, connection
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.landed import MINUTES, quiet, ready_to_build
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, tables
from tests.support.pipeline.warehouse import give_built

LATER = "2999-01-01"
# Not statistics of hours, which know what had come when they were made.
COMPARED = (
    "int_market_minutes", "int_market_bars", "series_market_1m", "series_base_1m", "series_market_1h", "markets",
    "gaps", "int_identity", "int_listed_markets", "recording_runs", "int_response_minutes",
)  # fmt: skip


@pytest.fixture(scope="module")
def template(landed: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Four minutes that were built one by one and compacted, a gap, and a late and a newer minute that were not; two
    bodies in quarantine, and a finding of the quality checks."""
    settings = ready_to_build(landed, tmp_path_factory.mktemp("rebuild") / "home")
    build(settings, max_minutes=1, report=quiet)
    assert compact_landing(settings, LATER, report=quiet) == 1
    for late in (MINUTES[-1] + 5 * MINUTE, MINUTES[-1] + 2 * MINUTE):
        land_minutes(settings, [late])
        build(settings, report=quiet)
    with connection(settings.warehouse) as con:
        con.execute(
            "insert into pipeline.quarantine by name select 7 as quarantine_id, 'dropped' as state, "
            f"'binance' as venue, 'funding' as endpoint, '' as key, '{{}}' as params, 1 as requested_ms, "
            f"{T0 - MINUTE} as tick_ms"
        )
        con.execute(
            "insert into quality.suspect_rows by name select 'prices' as \"check\", 'binance' as venue, "
            f"{T0} as from_ms, {T0 + MINUTE} as to_ms"
        )
    publish(settings, report=quiet)
    return settings


@pytest.fixture
def home(template: Settings, tmp_path: Path) -> Settings:
    settings = ready_to_build(template, tmp_path / "home")
    give_dbt(beside(settings))
    return settings


def pipeline_rows(settings: Settings, table: str, columns: str = "*") -> list[tuple[object, ...]]:
    with connection(settings.warehouse, read_only=True) as con:
        return con.execute(f"select {columns} from {table} order by all").fetchall()


def edition(settings: Settings) -> int:
    return int(json.loads((settings.serving / "current.json").read_text())["edition_id"])


def test_a_rebuild_that_was_killed_continues_and_has_the_rows_of_the_builds(
    home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in a window, after dbt and before it is closed; a minute is recorded and built meanwhile."""
    before, served = tables(home.warehouse, COMPARED), edition(home)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    said: list[str] = []
    steps = rebuild(home, max_minutes=2, report=said.append)
    assert next(steps).minutes == 2
    with monkeypatch.context() as patch:
        patch.setattr(closing, "MOST_MINUTES", 0)
        patch.setattr(transform, "close", killed)
        with pytest.raises(KeyboardInterrupt):
            next(steps)
    assert tables(home.warehouse, COMPARED) == before, "the warehouse is as it was until the end"

    land_minutes(home, [MINUTES[-1] + 6 * MINUTE])
    build(home, report=quiet)
    publish(home, report=quiet)
    incremental = tables(home.warehouse, COMPARED)
    assert incremental != before
    builds = pipeline_rows(home, "pipeline.builds", "finished_ms")
    minutes = [done.minute_ms for done in rebuild(home, max_minutes=2, report=said.append)]
    assert said == ["the rebuild that was interrupted continues"]
    assert minutes[-1] == MINUTES[-1] + 6 * MINUTE
    assert tables(home.warehouse, COMPARED) == incremental
    assert not set(builds) & set(pipeline_rows(home, "pipeline.builds", "finished_ms"))
    assert pipeline_rows(home, "pipeline.quarantine", "state, tick_ms") == [("dropped", T0 - MINUTE)]
    assert len(pipeline_rows(home, "quality.suspect_rows")) == 1
    assert not beside(home).home.exists()
    assert publish(home, report=quiet) is not None
    assert edition(home) > served + 1

    # Minutes go on in the new warehouse.
    land_minutes(home, [MINUTES[-1] + 7 * MINUTE])
    assert build(home, report=quiet) is not None
    assert max(pipeline_rows(home, "int_market_minutes", "minute_ms")) == (MINUTES[-1] + 7 * MINUTE,)


def test_a_rebuild_begins_again_when_the_project_has_changed(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    next(rebuild(home, max_minutes=2, report=said.append))
    monkeypatch.setattr(rebuilding, "fingerprint", lambda: "another")
    next(rebuild(home, max_minutes=2, report=said.append))
    assert said == ["the dbt project has changed since the rebuild began: it begins again"]
    assert len(pipeline_rows(beside(home), "pipeline.builds")) == 1


def test_a_damaged_warehouse_is_replaced_and_kept(home: Settings) -> None:
    rows = tables(home.warehouse, COMPARED)
    Path(home.warehouse).write_bytes(b"no database")
    said: list[str] = []
    assert list(rebuild(home, report=said.append))
    assert tables(home.warehouse, COMPARED) == rows
    assert [line.partition(":")[0].partition(";")[0] for line in said] == [
        "nothing is taken over from the warehouse", "the warehouse is damaged",
    ]  # fmt: skip
    [aside] = home.home.glob("warehouse.duckdb.damaged-*")
    assert aside.read_bytes() == b"no database"


def test_one_rebuild_at_a_time_and_only_of_a_file(home: Settings) -> None:
    folder = beside(home).home
    folder.mkdir(exist_ok=True)
    assert locks.take(folder / "rebuild.lock", "process 1") is not None
    with pytest.raises(PipelineError, match=re.escape("a rebuild runs already: process 1")):
        next(rebuild(home, report=quiet))
    lake = replace(home, warehouse="ducklake:postgres:dbname=none")
    with pytest.raises(PipelineError, match="only a warehouse that is a file is rebuilt beside itself"):
        next(rebuild(lake, report=quiet))


def test_a_home_without_a_warehouse_is_built(home: Settings, tmp_path: Path) -> None:
    rows = tables(home.warehouse, COMPARED)
    Path(home.warehouse).unlink()
    give_built(beside(home))
    assert list(rebuild(home, report=quiet))
    assert tables(home.warehouse, COMPARED) == rows
