"""What a publish writes for Prometheus: the newest minute's way, what models refused, and the disk."""

import json
import os
import time
from pathlib import Path

import duckdb
import pytest

from orchestration.config.settings import Settings
from orchestration.publish.edition import Edition
from orchestration.publish.metrics import DISK_EVERY_S, disk, parts_of, write_metrics
from orchestration.warehouse.watermark import prepare
from tests.support.servers.scrape import samples

DAY_S = 86_400.0
EDITION = Edition(9, 130_000, 150_000, 0, 2, "replica_a.duckdb")


def text(registry: object) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    from prometheus_client import generate_latest

    return samples(generate_latest(registry).decode())  # type: ignore[arg-type]


def settings_at(home: Path) -> Settings:
    return Settings.from_env({"TIDEMARK_HOME": str(home)})


def test_the_way_of_the_newest_minute(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    with duckdb.connect(settings.warehouse) as con:
        prepare(con)
        con.execute("insert into pipeline.builds values (1, 1000, 2000, 60000, [0], [0])")
        con.execute("insert into pipeline.builds values (2, 140000, 148500, 130000, [60000, 120000], [60000, 120000])")
        con.execute(
            "insert into pipeline.loads values ('131.5', 'a', 60000, 120000, 30, 2), ('99.25', 'b', 0, 0, 5, 2)"
        )
        con.execute("insert into pipeline.loads values ('9999', 'c', 0, 0, 1000, 1)")
        # An older minute that was built again since.
        con.execute("insert into pipeline.builds values (3, 149000, 149500, 130000, [0], [0])")
        con.execute(
            "insert into pipeline.upgrade_days select n * 86400000, 0, 0, 1, [], '', 1, case n when 0 then 2 end, "
            "case n when 3 then 'gone' end from range(4) r(n)"
        )
        con.execute(
            "create table int_rejected as select 120000 as tick_ms, 'okx' as venue, 2 as broken_bodies, "
            "3 as dropped_rows, 0 as outside_values union all select -9000000, 'okx', 100, 100, 100"
        )
        con.execute(
            "insert into pipeline.quarantine (quarantine_id, state, venue) values (1, 'waiting', 'gate'), "
            "(2, 'waiting', 'gate'), (3, 'dropped', 'gate')"
        )
        con.execute("insert into pipeline.model_times values ('series_market_1m', 141000, 143500)")
    before_s = time.time()
    timeline = write_metrics(settings, EDITION, 3.5, 2.25, run_started_ms=101_000)
    found = samples((settings.metrics / "pipeline.prom").read_text())
    stages = {labels[0][1]: at for (name, labels), at in found.items() if name == "tidemark_stage_timestamp_seconds"}
    assert stages.pop("pointed") == pytest.approx(before_s, abs=60)
    assert stages == {
        "minute": 120, "received": 130, "landed": 131.5, "run_started": 101, "build_started": 140, "built": 148.5,
        "published": 150,
    }  # fmt: skip
    assert timeline.seconds()["built"] == 28.5
    assert found["tidemark_model_seconds", (("model", "series_market_1m"),)] == 2.5
    assert (found["tidemark_build_seconds", ()], found["tidemark_build_rows", ()]) == (8.5, 35)
    assert (found["tidemark_publish_seconds", ()], found["tidemark_publish_cpu_seconds", ()]) == (3.5, 2.25)
    assert found["tidemark_rejected", (("kind", "dropped_rows"), ("venue", "okx"))] == 3
    assert found["tidemark_quarantined_responses", (("venue", "gate"),)] == 2
    days = {state: found["tidemark_upgrade_days", (("state", state),)] for state in ("waiting", "failed")}
    assert days == {"waiting": 2, "failed": 1}
    assert found["tidemark_published_edition", ()] == 9


def test_what_cannot_be_read_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    settings.metrics.mkdir()
    (settings.metrics / "pipeline.prom").write_text("before")
    Path(settings.warehouse).write_text("no database")
    timeline = write_metrics(settings, EDITION, 1, 1)
    assert (settings.metrics / "pipeline.prom").read_text() == "before"
    assert (timeline.published, timeline.minute, timeline.models) == (EDITION.published_ms, None, ())


def test_the_disk_by_part_and_the_days_that_are_left(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    (settings.serving / "deep").mkdir(parents=True)
    (settings.metrics).mkdir()
    Path(settings.warehouse).write_bytes(bytes(1000))
    (settings.serving / "deep" / "file").write_bytes(bytes(500))
    began = 1_000_000.0
    found = text(disk(settings, began))
    parts = {dict(labels)["part"]: size for (name, labels), size in found.items() if name.endswith("used_bytes")}
    assert (parts["warehouse"], parts["serving"], parts["landing"]) == (1000, 500, 0)
    assert ("tidemark_disk_days_left", ()) not in found, "the growth is not known yet"
    Path(settings.warehouse).write_bytes(bytes(1_001_000))
    assert ("tidemark_disk_days_left", ()) not in text(disk(settings, began + 3599)), "less than an hour is no growth"
    found = text(disk(settings, began + DAY_S / 2))
    # The measurements themselves take some bytes too.
    days = found["tidemark_disk_free_bytes", ()] / 2_000_000
    assert abs(found["tidemark_disk_days_left", ()] / days - 1) < 0.01
    Path(settings.warehouse).write_bytes(bytes(10))
    assert ("tidemark_disk_days_left", ()) not in text(disk(settings, began + DAY_S / 2 + 60)), "it shrinks"
    disk(settings, began + 3 * DAY_S)
    kept = json.loads((settings.metrics / "disk.json").read_text())
    assert [at for at, _ in kept] == [began + 3 * DAY_S], "what is older than a day is not kept"


def test_the_disk_is_not_measured_at_every_publish(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    write_metrics(settings, EDITION, 1, 1)
    file = settings.metrics / "disk.prom"
    first = file.stat().st_ino
    write_metrics(settings, EDITION, 1, 1)
    assert file.stat().st_ino == first
    os.utime(file, (file.stat().st_mtime - DISK_EVERY_S - 1,) * 2)
    write_metrics(settings, EDITION, 1, 1)
    assert file.stat().st_ino != first


def test_a_file_with_two_names_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "bulk/.versions").mkdir(parents=True)
    (tmp_path / "bulk/.versions/1").write_bytes(b"x" * 100)
    (tmp_path / "bulk/table").hardlink_to(tmp_path / "bulk/.versions/1")
    (tmp_path / "bulk/manifest.json").write_bytes(b"x" * 10)
    assert dict(parts_of(settings_at(tmp_path)))["bulk"] == 110
