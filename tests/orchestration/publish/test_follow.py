"""Hosts that publish from one lake: the same numbers and rows on each, and what happens while the lake is away."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from orchestration.config.places import LAKE
from orchestration.publish import follow as followed
from orchestration.publish.edition import read_current
from orchestration.publish.publish import publish_locked
from orchestration.warehouse import lake
from tests.support.pipeline.marts import T0, MartWarehouse
from tests.support.pipeline.pipeline_home import MINUTE, settings_for
from tests.support.servers.postgres_server import Postgres

MODELS = ("series_market_1m", "series_base_1m", "market_index")


class Lake:
    """A lake with the tables of a small warehouse; each `close` is a window that its builder closed."""

    def __init__(self, postgres: Postgres, folder: Path) -> None:
        self.few = MartWarehouse(folder, MODELS)
        self.warehouse = LAKE + postgres.connection(postgres.database())
        self.data = str(folder / "rows")
        self.minutes = 0

    def close(self) -> None:
        """Build one more minute."""
        self.few.build(T0 + self.minutes * MINUTE)
        self.minutes += 1
        with duckdb.connect() as con:
            lake.attach(con, self.warehouse, data=self.data)
            con.execute(f"attach '{self.few.path}' as file (read_only); begin")
            tables = con.execute(
                "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'file'"
            ).fetchall()
            for (name,) in tables:
                con.execute(f"create schema if not exists warehouse.{name.partition('.')[0]}")
                con.execute(f"create or replace table warehouse.{name} as from file.{name}")
            lake.note_closed(con, self.minutes)
            con.execute("commit")

    def publish(self, serving: Path, force: bool = False) -> tuple[int, int, list[tuple[object, ...]]]:
        """Publish on a host; the number and the date of its edition, and its rows."""
        publish_locked(
            self.warehouse, serving, self.few.manifest, {"threads": 1}, force, self.few.served, report=lambda _: None
        )
        current = read_current(serving)
        assert current is not None
        with duckdb.connect(str(serving / current["replica"]), read_only=True) as con:
            rows = con.execute("from series_market_1m order by all").fetchall()
            [(published_ms,)] = con.execute("select published_ms from edition").fetchall()
        return current["edition_id"], published_ms, rows


@pytest.fixture
def shared(postgres: Postgres, tmp_path: Path) -> Lake:
    return Lake(postgres, tmp_path)


def test_every_host_numbers_and_dates_a_window_alike(shared: Lake, tmp_path: Path) -> None:
    """Also one that began later, one that missed a window, and one that publishes the same window again."""
    one, two = tmp_path / "one", tmp_path / "two"
    shared.close()
    first = shared.publish(one)
    shared.close()
    second = shared.publish(one)
    assert second[0] > first[0]
    assert second[1] >= first[1]
    assert len(second[2]) > len(first[2])
    assert shared.publish(two) == second
    shared.close()
    shared.close()
    assert shared.publish(one) == shared.publish(two) != second
    assert shared.publish(two, force=True) == shared.publish(one)


def test_a_host_with_more_editions_of_its_own_goes_on_counting(shared: Lake, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shared.close()
    own.mkdir()
    (own / "current.json").write_text(
        '{"edition_id": 100000, "as_of_ms": 1, "published_ms": 1, "recorded_since_ms": 1, "build_id": 1, '
        '"replica": "replica_a.duckdb"}'
    )
    assert shared.publish(own)[0] == 100001


def test_nothing_is_published_before_the_first_window_is_closed(shared: Lake, tmp_path: Path) -> None:
    said: list[str] = []
    few = shared.few
    for made in (False, True):
        if made:
            with duckdb.connect() as con:
                lake.attach(con, shared.warehouse, data=shared.data)
        served = {"served": few.served, "report": said.append}
        assert publish_locked(shared.warehouse, tmp_path / "s", few.manifest, **served) is None  # type: ignore[arg-type]
    assert said == ["nothing to publish: nothing has been built yet"] * 2


class Ended(BaseException):
    """Ends the loop, which nothing else does."""


def test_a_lake_that_is_away_is_reported_once_and_followed_again(
    shared: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(settings_for(tmp_path / "home"), warehouse=shared.warehouse)
    away = replace(settings, warehouse=shared.warehouse.replace("dbname=", "dbname=not_"))
    shared.close()
    published: list[str] = []
    monkeypatch.setattr(followed, "publish", lambda settings, report: published.append(settings.warehouse))
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise Ended

    monkeypatch.setattr("time.sleep", pause)
    said: list[str] = []
    with pytest.raises(Ended):
        followed.follow(away, said.append)
    assert len(said) == 1
    assert "does not exist" in said[0]
    assert (published, pauses) == ([], [followed.AGAIN_S] * 3)
    pauses.clear()
    with pytest.raises(Ended):
        followed.follow(settings, said.append)
    assert (published, pauses) == ([shared.warehouse], [followed.LOOK_S] * 3)
