"""Backup and restore: a home that is lost comes back with every minute and goes on; nothing half is taken for whole."""

import json
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.supervise.backup import MANIFEST, PARTIAL, backup, backups, restore
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import PipelineError, connection
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import COINS, MINUTE, T0, land_minutes, settings_for, tables
from tests.support.pipeline.warehouse import give_built


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home of two built minutes and a third that is landed, with a key and the progress of a backfill."""
    settings = settings_for(tmp_path_factory.mktemp("original") / "home")
    give_dbt(settings)
    give_built(settings)
    land_minutes(settings, (T0, T0 + MINUTE))
    build(settings, report=quiet)
    publish(settings, report=quiet)
    publish(settings, force=True, report=quiet)
    land_minutes(settings, (T0 + 2 * MINUTE,))
    kept = Path(settings.landing, "staged", "2026-03-04", "1.compacted-1")
    kept.mkdir(parents=True)
    (kept / "kept.json").write_text("{}")
    (settings.home / "keys.json").write_text('{"keys": []}')
    (settings.home / "origin").write_text("simulated exchanges\n")
    (settings.recorder / "journal").mkdir()
    (settings.recorder / "journal" / "1.arrow").write_bytes(b"rows")
    settings.backfill.mkdir()
    with closing(sqlite3.connect(settings.backfill / "covered.sqlite")) as con, con:
        con.execute("create table covered as select 7 as n")
    return settings


def test_a_home_that_is_lost_comes_back_and_goes_on(original: Settings, tmp_path: Path) -> None:
    made = backup(original, tmp_path / "backups", report=quiet)
    assert (made.folder / MANIFEST).is_file()
    home = settings_for(tmp_path / "another" / "home")
    give_dbt(home)
    folder, files = restore(home, tmp_path / "backups")
    assert (folder, files) == (made.folder, made.files)
    for name in ("keys.json", "origin", "recorder/journal/1.arrow"):
        assert (home.home / name).read_bytes() == (original.home / name).read_bytes()
    assert not Path(home.landing, "staged").exists(), "it can be made again"
    with closing(sqlite3.connect(home.backfill / "covered.sqlite")) as con:
        assert con.execute("select n from covered").fetchall() == [(7,)]
    before = json.loads((original.serving / "current.json").read_text())
    edition = publish(home, report=quiet)
    assert edition is not None
    assert edition.edition_id == before["edition_id"] + 1, "a client never sees a number twice"
    assert tables(home.warehouse) == tables(original.warehouse)
    # The third minute was landed and not built; a fourth comes.
    land_minutes(home, (T0 + 3 * MINUTE,))
    built = build(home, report=quiet)
    assert built is not None
    assert built.minutes == 2
    with connection(home.warehouse, read_only=True) as con:
        minutes = con.execute("select distinct minute_ms from int_market_minutes order by 1").fetchall()
    assert minutes == [(T0 + n * MINUTE,) for n in range(4)]


def test_the_next_backup_takes_what_is_new_and_each_is_whole(original: Settings, tmp_path: Path) -> None:
    first = backup(original, tmp_path, report=quiet)
    assert first.new_files == first.files
    second = backup(original, tmp_path, report=quiet)
    assert second.files == first.files
    assert second.new_files == 1, "only the database of the progress, which is copied by its own means"
    landed = next((first.folder / "landing").rglob("*.parquet"))
    same = second.folder / landed.relative_to(first.folder)
    assert landed.stat().st_ino == same.stat().st_ino
    third = backup(original, tmp_path, keep=2, report=quiet)
    assert backups(tmp_path) == [second.folder, third.folder]
    shutil.rmtree(second.folder)
    assert restore(settings_for(tmp_path / "home"), tmp_path)[0] == third.folder


def test_an_interrupted_backup_is_not_taken_for_one(
    original: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = backup(original, tmp_path, report=quiet)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "link", fail)
        broken.setattr(shutil, "copy2", fail)
        with pytest.raises(OSError, match="No space"):
            backup(original, tmp_path, report=quiet)
    assert len(list(tmp_path.glob(f"*{PARTIAL}"))) == 1
    assert backups(tmp_path) == [first.folder]
    assert restore(settings_for(tmp_path / "home"), tmp_path)[0] == first.folder
    second = backup(original, tmp_path, report=quiet)
    assert not list(tmp_path.glob(f"*{PARTIAL}"))
    assert backups(tmp_path) == [first.folder, second.folder]


def test_backups_while_minutes_are_landed_and_built(tmp_path: Path) -> None:
    """Whatever moment a backup is of, it restores to minutes that the landing has, each whole."""
    settings = settings_for(tmp_path / "home")
    give_dbt(settings)
    give_built(settings)
    land_minutes(settings, (T0,))
    build(settings, report=quiet)
    begun = threading.Event()

    def go_on() -> None:
        for n in range(1, 3):
            land_minutes(settings, (T0 + n * MINUTE,))
            begun.set()
            build(settings, report=quiet)

    thread = threading.Thread(target=go_on)
    thread.start()
    begun.wait(60)
    made = []
    while thread.is_alive():
        made.append(backup(settings, tmp_path / "backups", keep=100, report=quiet).folder)
    thread.join()
    restored = settings_for(tmp_path / "restored")
    give_dbt(restored)
    restore(restored, made[len(made) // 2])
    build(restored, report=quiet)
    with connection(restored.warehouse, read_only=True) as con:
        found = con.execute("select minute_ms, count(*) from int_market_minutes group by 1 order by 1").fetchall()
    assert found == [(T0 + n * MINUTE, len(COINS)) for n in range(len(found))]
    assert found


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / "warehouse.duckdb").unlink(), "warehouse.duckdb is missing or damaged"),
        (lambda folder: (folder / "keys.json").write_text("short"), "should have 12 bytes"),
        (lambda folder: (folder / MANIFEST).write_text("{"), "is damaged"),
        (lambda folder: (folder / MANIFEST).write_text('{"format": 9, "files": {}}'), "has the format 9"),
    ],
)
def test_a_damaged_backup_writes_nothing(original: Settings, tmp_path: Path, damage: object, reason: str) -> None:
    made = backup(original, tmp_path / "backups", report=quiet)
    assert callable(damage)
    damage(made.folder)
    home = settings_for(tmp_path / "home")
    with pytest.raises(PipelineError, match=reason):
        restore(home, made.folder)
    assert not home.home.exists()


def test_what_cannot_work_is_one_sentence(original: Settings, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"is inside of .*choose a folder elsewhere"):
        backup(original, original.home / "backups")
    with pytest.raises(PipelineError, match="does not exist"):
        backup(settings_for(tmp_path / "nowhere"), tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PipelineError, match="nothing has been recorded yet"):
        backup(settings_for(tmp_path / "empty"), tmp_path / "backups")
    with pytest.raises(PipelineError, match="holds no backup"):
        restore(settings_for(tmp_path / "home"), tmp_path / "backups")
    backup(original, tmp_path / "backups", report=quiet)
    with pytest.raises(PipelineError, match="exists: restore into an empty TIDEMARK_HOME"):
        restore(original, tmp_path / "backups")
