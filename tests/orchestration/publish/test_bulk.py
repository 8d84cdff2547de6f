"""Bulk files: what is finished is written once, what has changed is written again, and nothing is half there."""

import hashlib
import json
import os
import signal
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from orchestration.config import locks
from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.config.settings import Settings
from orchestration.publish.bulk import Written, write_bulk, write_folder
from orchestration.publish.bulk_folder import BulkFolder
from orchestration.warehouse.writer import PipelineError
from tests.support.pipeline.marts import COINS, FEW, T0, MartWarehouse, quiet, rows, served
from tests.support.pipeline.pipeline_home import settings_for

NOON = T0 + 12 * HOUR_MS
NEXT = T0 + DAY_MS
# When a day is finished: its late data has come.
SETTLED = NEXT + 3 * HOUR_MS
MINUTES, DAILY = "series_market_1m", "series_market_1d"


@pytest.fixture
def made(tmp_path: Path) -> MartWarehouse:
    """A day with one minute, and a minute of the next day after which the day is finished."""
    warehouse = MartWarehouse(tmp_path, (*FEW, "gaps"))
    warehouse.build(NOON)
    warehouse.build(SETTLED)
    warehouse.publish()
    return warehouse


def home(warehouse: MartWarehouse, **env: str) -> Settings:
    folder = str(Path(warehouse.path).parent)
    return Settings.from_env({"TIDEMARK_HOME": folder, "TIDEMARK_BUILD_THREADS": "1", **env})


def write(warehouse: MartWarehouse, **env: str) -> Written:
    return write_folder(home(warehouse, **env), warehouse.manifest, quiet)


def listed(warehouse: MartWarehouse) -> dict[tuple[str, str], Mapping[str, Any]]:
    said = json.loads((home(warehouse).bulk / "manifest.json").read_text())
    return {(file["table"], file["partition"]): file for file in said["files"]}


def assert_whole(warehouse: MartWarehouse) -> None:
    """Each file that is listed is there under both names, and nothing else is; the rows are those of the edition."""
    bulk, files = home(warehouse).bulk, listed(warehouse)
    shown = {str(path.relative_to(bulk)) for path in bulk.glob("series_*/**/*") if path.is_file()}
    assert shown == {f"{table}/{partition}/{table}.parquet" for table, partition in files}
    for (table, partition), file in files.items():
        version = bulk / ".versions" / table / partition / f"{file['sha256']}.parquet"
        path = bulk / table / partition / f"{table}.parquet"
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"]
        assert path.samefile(version)
        assert path.stat().st_size == file["bytes"]
        where = f"where t >= {file['start']} and t < {file['end']} order by all"
        expected = rows(served(warehouse), f"select * exclude (base_key) from {table} {where}")
        assert duckdb.sql(f"from read_parquet('{path}', hive_partitioning = false) {where}").fetchall() == expected
        assert file["rows"] == len(expected)


@pytest.mark.requirement("bulk:finished")
def test_a_day_is_written_when_its_late_data_has_come(tmp_path: Path) -> None:
    warehouse = MartWarehouse(tmp_path, (*FEW, "gaps"))
    warehouse.build(NOON)
    warehouse.build(SETTLED - 2 * MINUTE_MS)
    warehouse.publish()
    assert write(warehouse).files == 0
    warehouse.build(SETTLED)
    warehouse.publish()
    done = write(warehouse)
    # The finer tables by day; that of days by month, up to the last finished day.
    assert done.files == len(warehouse.served.tables) == len(listed(warehouse))
    assert set(listed(warehouse)) == {
        (table.name, "month=2026-03" if table.tier.step == "1d" else "day=2026-03-04")
        for table in warehouse.served.tables
    }
    daily = listed(warehouse)[DAILY, "month=2026-03"]
    assert (daily["end"], daily["rows"]) == (NEXT, len(COINS))
    assert_whole(warehouse)
    assert write(warehouse) == Written()
    # A day later the month's file has a day more, under another checksum, and the day has its own.
    warehouse.build(NEXT + DAY_MS + 4 * HOUR_MS)
    warehouse.publish()
    write(warehouse)
    grown = listed(warehouse)[DAILY, "month=2026-03"]
    assert (grown["end"], grown["rows"]) == (NEXT + DAY_MS, 2 * len(COINS))
    assert grown["sha256"] != daily["sha256"]
    assert (MINUTES, "day=2026-03-05") in listed(warehouse)
    assert_whole(warehouse)


@pytest.mark.requirement("bulk:restated")
def test_a_restated_day_has_a_new_version_and_the_old_one_stays_for_a_while(made: MartWarehouse) -> None:
    write(made)
    before = listed(made)
    # Late data of one coin.
    made.build(SETTLED + MINUTE_MS, late=((NOON, COINS[3]),))
    made.publish()
    done = write(made)
    after = listed(made)
    changed = {key for key in after if after[key]["sha256"] != before[key]["sha256"]}
    assert (MINUTES, "day=2026-03-04") in changed
    assert (DAILY, "month=2026-03") in changed
    assert done.files == len(changed)
    assert all(after[key] == before[key] for key in after.keys() - changed)
    assert_whole(made)
    versions = home(made).bulk / ".versions"
    replaced = versions / MINUTES / "day=2026-03-04" / f"{before[MINUTES, 'day=2026-03-04']['sha256']}.parquet"
    assert replaced.exists()
    folder = BulkFolder.open(home(made).bulk)
    folder.replaced = dict.fromkeys(folder.replaced, 0)
    folder.remove_before(0)
    assert not replaced.exists()
    assert len([path for path in versions.rglob("*") if path.is_file()]) == len(after)
    assert_whole(made)


@pytest.mark.requirement("bulk:restated")
def test_only_what_builds_have_touched_is_looked_at_and_all_after_a_rebuild(made: MartWarehouse) -> None:
    write(made)
    made.build(SETTLED + MINUTE_MS)
    made.publish()
    # The day that goes on is touched, and none that is finished.
    assert write(made) == Written()
    tables = len(made.served.tables)
    # Another warehouse: its builds are not those that were looked at.
    made.write("update pipeline.builds set finished_ms = 99; update series_market_1m set price = 99")
    made.publish()
    done = write(made)
    assert (done.files, done.unchanged) == (1, tables - 1)
    assert_whole(made)


@pytest.mark.requirement("bulk:gaps")
def test_a_day_says_how_many_minutes_were_not_recorded(made: MartWarehouse) -> None:
    gaps = [
        (NOON, NOON + 10 * MINUTE_MS, "null", "null", "recorder_down"),
        # Half of it while the recorder was down, the other half of it at the same time as the next one.
        (NOON + 5 * MINUTE_MS, NOON + 15 * MINUTE_MS, "'v'", "'perp_tickers'", "venue_error"),
        (NOON + 12 * MINUTE_MS, NOON + 20 * MINUTE_MS, "'w'", "'perp_tickers'", "partial"),
        (NEXT - MINUTE_MS, NEXT + MINUTE_MS, "'w'", "'perp_tickers'", "partial"),
    ]
    for start, end, venue, kind, reason in gaps:
        made.write(f"insert into gaps values ({start}, {end}, {venue}, {kind}, '{reason}')")
    made.publish(force=True)
    write(made)
    file = listed(made)[MINUTES, "day=2026-03-04"]
    # The recording began at noon.
    assert file["minutes_missing"] == 12 * 60 + 10
    assert file["minutes_partial"] == 10 + 1
    assert file["buckets_missing"] == 24 * 60 - 1
    assert listed(made)["series_base_1h", "day=2026-03-04"]["buckets_missing"] == 23


@pytest.mark.requirement("bulk:formats")
def test_files_are_sorted_as_they_are_clustered_and_describe_themselves(made: MartWarehouse) -> None:
    write(made)
    path = home(made).bulk / MINUTES / "day=2026-03-04" / f"{MINUTES}.parquet"
    file = pq.ParquetFile(path)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert [file.schema_arrow.names[one.column_index] for one in file.metadata.row_group(0).sorting_columns] == [
        "base", "market_id", "t",
    ]  # fmt: skip
    table = file.read()
    assert table.column("base").to_pylist() == COINS
    said = json.loads(file.schema_arrow.metadata[b"tidemark"])
    assert (said["table"], said["start"], said["end"], said["step"]) == (MINUTES, T0, NEXT, "1m")
    assert [column["name"] for column in said["columns"]] == table.column_names
    # The folder is a Hive table to each reader.
    frame = pd.read_parquet(home(made).bulk / MINUTES)
    assert list(frame["day"].astype(str).unique()) == ["2026-03-04"]
    found = duckdb.sql(f"from read_parquet('{home(made).bulk}/{MINUTES}/*/*.parquet', hive_partitioning = true)")
    assert dict(zip(found.columns, map(str, found.types), strict=True))["day"] == "DATE"
    assert len(found.fetchall()) == len(frame) == len(COINS)


@pytest.mark.requirement("bulk:kept")
def test_old_days_are_removed_and_off_writes_none(made: MartWarehouse) -> None:
    for day in (1, 2, 3):
        made.build(NEXT + day * DAY_MS + 4 * HOUR_MS)
    made.publish()
    write(made)
    assert {partition for table, partition in listed(made) if table == MINUTES} == {
        f"day=2026-03-{day:02}" for day in (4, 5, 6, 7)
    }
    done = write(made, TIDEMARK_BULK_DAYS="2")
    assert {partition for _, partition in listed(made)} == {"day=2026-03-06", "day=2026-03-07", "month=2026-03"}
    assert done.removed == 2 * sum(table.tier.step != "1d" for table in made.served.tables)
    assert_whole(made)
    # They are not written again, although the edition has them.
    assert write(made, TIDEMARK_BULK_DAYS="2").files == 0
    said: list[str] = []
    assert write_bulk(home(made, TIDEMARK_BULK_DAYS="off"), said.append) == Written()
    assert said == ["no bulk files are written: TIDEMARK_BULK_DAYS is off"]


@pytest.mark.requirement("bulk:whole")
def test_what_has_left_the_edition_stays(made: MartWarehouse) -> None:
    write(made)
    before = listed(made)[MINUTES, "day=2026-03-04"]
    made.build(NOON + 10 * DAY_MS)
    made.publish()
    assert rows(served(made), f"select count(*) from {MINUTES} where t < {NEXT}") == [(0,)]
    write(made)
    assert listed(made)[MINUTES, "day=2026-03-04"] == before


def _write_until(settings: Settings, manifest: Path, seam: str) -> None:
    """A pass that is killed where a file is renamed or linked for the n-th time."""
    name, _, at = seam.partition(" ")
    count, call = 0, getattr(os, name)

    def counted(*args: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        if count == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **more)

    setattr(os, name, counted)
    write_folder(settings, manifest, quiet)


@pytest.mark.requirement("bulk:whole")
@pytest.mark.parametrize("seam", ["replace 1", "replace 2", "link 2", "fsync 6"])
def test_a_kill_leaves_nothing_half_written_and_the_next_pass_continues(made: MartWarehouse, seam: str) -> None:
    write(made)
    made.build(SETTLED + MINUTE_MS, late=tuple((NOON, coin) for coin in COINS))
    made.publish()
    process = get_context("forkserver").Process(target=_write_until, args=(home(made), made.manifest, seam))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    # What a reader of the folder or the manifest finds is whole: each file is the old or the new version.
    bulk = home(made).bulk
    for (table, partition), file in listed(made).items():
        version = bulk / ".versions" / table / partition / f"{file['sha256']}.parquet"
        assert hashlib.sha256(version.read_bytes()).hexdigest() == file["sha256"]
        [shown] = (bulk / table / partition).glob("*.parquet")
        assert pq.read_table(shown).num_rows == file["rows"]
    write(made)
    assert_whole(made)


@pytest.mark.requirement("bulk:whole")
def test_one_process_writes_at_a_time(tmp_path: Path, few: MartWarehouse) -> None:
    said: list[str] = []
    settings = settings_for(tmp_path / "empty")
    settings.home.mkdir()
    assert write_bulk(settings, said.append) == Written()
    assert said == ["no bulk files are written: nothing has been published yet"]
    few.publish()
    lock = locks.take(home(few).home / "bulk.lock")
    assert lock is not None
    with pytest.raises(PipelineError, match="another process writes"):
        write_bulk(home(few), quiet)
    os.close(lock)
