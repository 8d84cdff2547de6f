"""One writer at a time, and the connection to a database that another process may hold."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestration.warehouse.writer import (
    BLOCK_BYTES,
    STORAGE_VERSION,
    DiskFullError,
    UnreadableError,
    WriterBusyError,
    connection,
    literals,
    writer_lock,
)
from tests.support.pipeline.landed import quiet


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path, "build", report=quiet),
        pytest.raises(WriterBusyError, match="build"),
        writer_lock(tmp_path, "publish", wait_s=0, report=quiet),
    ):
        pass
    with writer_lock(tmp_path, "publish", wait_s=0, report=quiet):
        pass


def test_a_child_that_outlives_its_parent_is_still_the_writer(tmp_path: Path) -> None:
    with writer_lock(tmp_path, "build", report=quiet) as lock:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock,))
    with pytest.raises(WriterBusyError), writer_lock(tmp_path, "publish", wait_s=0, report=quiet):
        pass
    child.communicate()
    deadline = time.monotonic() + 10
    while True:
        try:
            with writer_lock(tmp_path, "publish", wait_s=0, report=quiet):
                return
        except WriterBusyError:
            assert time.monotonic() < deadline


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        min_size=1,
    )
)
def test_literals_are_the_values_that_they_write(values: list[int | str | None]) -> None:
    with duckdb.connect(config={"threads": 1}) as con:
        assert con.execute(f"select {literals(*values)}").fetchone() == tuple(values)


def test_a_file_that_is_no_database_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    path.write_bytes(b"no database" * 1000)
    with (
        pytest.raises(UnreadableError, match=rf"{path} cannot be opened.*tidemark build --rebuild"),
        connection(str(path)),
    ):
        pass


def test_what_is_not_checkpointed_is_in_the_log_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    with connection(str(path), checkpoint=False) as con:
        con.execute("create table kept as select 1 as n")
    assert path.with_name("warehouse.duckdb.wal").exists()
    with connection(str(path)) as con:
        assert con.execute("from kept").fetchall() == [(1,)]
    assert not path.with_name("warehouse.duckdb.wal").exists()


def test_what_is_not_logged_is_kept_from_its_checkpoint_on(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    with connection(str(path)) as con:
        con.execute("create table before as select 0 as n")
    with connection(str(path), checkpoint=False, logged=False) as con:
        con.execute("create table kept as select 1 as n; checkpoint")
        con.execute("create table lost as select 2 as n")
        assert not path.with_name("warehouse.duckdb.wal").exists()
    with connection(str(path)) as con:
        found = con.execute("select table_name from duckdb_tables() order by 1").fetchall()
    assert found == [("before",), ("kept",)]


@pytest.mark.parametrize("logged", [True, False])
def test_what_does_not_fit_into_memory_goes_beside_the_database(tmp_path: Path, logged: bool) -> None:
    path = tmp_path / "warehouse.duckdb"
    with connection(str(path), {"memory_limit": "40MB", "threads": 1}, logged=logged) as con:
        assert con.execute("select current_setting('temp_directory')").fetchall() == [(f"{path}.tmp",)]
        con.execute("create temp table much as select uuid()::varchar as id from range(2000000)")
        assert list(path.with_name("warehouse.duckdb.tmp").iterdir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a disk of a few megabytes cannot be mounted here, which only root may")
    yield disk
    subprocess.run(["umount", disk], check=True)


FILL = "create or replace table much as select range as n, uuid()::varchar as text from range(200000)"


@pytest.mark.parametrize("fill", [FILL, f"{FILL}; checkpoint", f"begin; {FILL}; commit; force checkpoint"])
def test_a_full_disk_is_one_sentence_and_what_was_there_stays(small_disk: Path, fill: str) -> None:
    database = small_disk / "warehouse.duckdb"
    with connection(str(database)) as con:
        con.execute("create table few as select 1 as n")
    with (
        pytest.raises(DiskFullError, match=f"the disk of {database} is full: nothing is lost"),
        connection(str(database)) as con,
    ):
        con.execute(fill)
    with connection(str(database)) as con:
        assert con.execute("from few").fetchall() == [(1,)]


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    (small_disk / "all").write_bytes(bytes(4 << 20))
    with pytest.raises(DiskFullError, match="is full"), connection(str(small_disk / "new.duckdb")):
        raise AssertionError("it is never open")


def form_of(path: str) -> str:
    """The version of DuckDB from which on this file can be read."""
    with duckdb.connect(path, read_only=True) as con:
        [(tags,)] = con.execute("select tags from duckdb_databases() where path is not null").fetchall()
        return str(tags["storage_version"])


def blocks_of(path: str) -> int:
    """The size of this file's blocks, in bytes."""
    with duckdb.connect(path, read_only=True) as con:
        [(found,)] = con.execute("select block_size from pragma_database_size()").fetchall()
        return int(found)


@pytest.mark.parametrize("logged", [False, True])
def test_a_new_file_is_in_the_form_whose_checkpoints_do_not_read_all_of_it(tmp_path: Path, logged: bool) -> None:
    path = str(tmp_path / "warehouse.duckdb")
    with connection(path, logged=logged) as con:
        con.execute("create table numbers as select 1 as n")
        con.execute("checkpoint")
    assert form_of(path) == f"{STORAGE_VERSION}+"
    assert blocks_of(path) == BLOCK_BYTES


def test_a_file_keeps_the_blocks_that_it_was_made_with(tmp_path: Path) -> None:
    """The warehouse of an earlier release."""
    path = str(tmp_path / "warehouse.duckdb")
    with duckdb.connect(path) as con:
        con.execute("create table numbers as select 1 as n")
    usual = blocks_of(path)
    for logged in (False, True):
        with connection(path, logged=logged) as con:
            con.execute("insert into numbers values (2)")
            con.execute("checkpoint")
    assert blocks_of(path) == usual != BLOCK_BYTES
    with connection(path) as con:
        assert con.execute("select sum(n) from numbers").fetchall() == [(5,)]


def test_a_file_in_an_older_form_gets_ours_and_one_in_a_newer_form_keeps_it(tmp_path: Path) -> None:
    """The file of an earlier release, and one that a later release wrote before a return to this one."""
    for written, expected in {"v1.0.0": STORAGE_VERSION, "v1.5.0": "v1.5.0"}.items():
        path = str(tmp_path / f"{written}.duckdb")
        with duckdb.connect(path, config={"storage_compatibility_version": written}) as con:
            con.execute("create table numbers as select 1 as n")
        with connection(path, logged=False) as con:
            con.execute("insert into numbers values (2)")
            con.execute("checkpoint")
        assert form_of(path) == f"{expected}+"
        with connection(path) as con:
            assert con.execute("select sum(n) from numbers").fetchall() == [(3,)]
