"""Journal and landing: what was received survives any crash and any full disk, and is landed once."""

import errno
import io
import json
import os
import string
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.landing.journal import PART_BYTES, Journal, batches, tables
from ingest.landing.landing import Landing, LandingFault, committed_loads, in_landing, land
from ingest.landing.rows import SCHEMA, Row, to_batch
from tests.support.servers.loopback_venue import identity, landed


def row(n: int, body: str | None = "{}") -> Row:
    return Row(60_000, "binance", "open_interest", str(n), "{}", 200, n, n + 1, 1, None, body)


def table(*rows: Row) -> list[pa.Table]:
    return [pa.Table.from_batches([to_batch(rows)])]


def rows_of(journal: Path) -> list[Row]:
    return [Row(**values) for batch in batches(journal) for values in batch.to_pylist()]


texts = st.none() | st.text()
numbers = st.integers(-(2**63), 2**63 - 1)
any_row = st.builds(
    Row, numbers, st.text(), st.text(), st.text(), st.text(), st.none() | numbers, numbers, st.none() | numbers,
    numbers, texts, texts,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(batches=st.lists(st.lists(any_row, min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_journal_gives_back_what_it_took(batches: list[list[Row]], tmp_path_factory: pytest.TempPathFactory) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal"))
    for batch in batches:
        journal.append(batch)
    (path,) = journal.close_file()
    assert rows_of(path) == [row for batch in batches for row in batch]


def test_a_cut_off_tail_loses_only_the_unfinished_batch(tmp_path: Path) -> None:
    """At whatever byte the writing was killed, every batch that was finished is read."""
    journal = Journal(tmp_path / "journal")
    for n in range(3):
        journal.append([row(n)])
    (path,) = journal.close_file()
    whole = path.read_bytes()
    seen = set()
    for size in range(0, len(whole), 11):
        cut = tmp_path / "cut.arrows"
        cut.write_bytes(whole[:size])
        kept = rows_of(cut)
        assert kept == [row(n) for n in range(len(kept))]
        seen.add(len(kept))
    assert seen == {0, 1, 2, 3} or seen == {0, 1, 2}


class FailingDisk(io.FileIO):
    """A file whose disk fails after some reads."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads > 9:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().read(-1 if size is None else size)


def test_a_disk_that_fails_is_not_the_end_of_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows would be taken for landed and deleted."""
    journal = Journal(tmp_path)
    for n in range(5):
        journal.append([row(n)])
    (path,) = journal.close_file()
    monkeypatch.setattr(Path, "open", lambda path, mode: FailingDisk(str(path)))
    read: list[pa.RecordBatch] = []
    with pytest.raises(OSError, match="Input/output error"):
        read.extend(batches(path))


def test_a_new_journal_goes_on_after_the_old_files(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    first.append([row(1)])
    second = Journal(tmp_path)
    second.append([row(2)])
    assert [rows_of(path) for path in second.close_file()] == [[row(1)], [row(2)]]


def test_a_load_has_the_contracts_layout_and_types(tmp_path: Path) -> None:
    landing = tmp_path / "My Landing"
    land([row(1), row(2, None)], str(landing), tmp_path / "dlt")
    (load,) = committed_loads(str(landing))
    (file,) = load.files
    folder, day, name = Path(file).relative_to(landing).parts
    assert (folder, len(day)) == ("responses", 10)
    assert name.startswith(f"{load.load_id}.")
    assert pq.read_schema(file).equals(SCHEMA)
    assert [Row(**values) for values in landed(landing)] == [row(1), row(2, None)]


def test_a_load_holds_little_of_what_it_lands(tmp_path: Path) -> None:
    """Journals of 40 MB pass through a few megabytes, row group by row group, and nothing of them stays."""
    journal = Journal(tmp_path / "journal")
    letters = string.ascii_letters * 2000
    for n in range(400):
        journal.append([row(n, letters[n % 52 :][:100_000])])
    before, held = pa.total_allocated_bytes(), []

    def watched(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for part in parts:
            held.append(pa.total_allocated_bytes() - before)
            yield part

    Landing(str(tmp_path / "landing"), tmp_path / "dlt").land(watched(tables(journal.close_file())))
    (load,) = committed_loads(str(tmp_path / "landing"))
    assert pq.ParquetFile(load.files[0]).num_row_groups == len(held) > 15
    assert max(held) < 5 * PART_BYTES
    rows = landed(tmp_path / "landing")
    assert [found["key"] for found in rows] == [str(n) for n in range(400)]
    assert all(found["body"] == letters[n % 52 :][:100_000] for n, found in enumerate(rows))


def test_the_schema_is_frozen(tmp_path: Path) -> None:
    """A column more is refused, nothing of it is landed, and the landing goes on afterwards."""
    landing = Landing(str(tmp_path / "landing"), tmp_path / "dlt")
    landing.land(table(row(1)))
    with pytest.raises(LandingFault, match="extra"):
        landing.land([found.append_column("extra", pa.array([1])) for found in table(row(2))])
    landing.land_pending()
    landing.land(table(row(3)))
    assert [found["key"] for found in landed(tmp_path / "landing")] == ["1", "3"]


def test_only_committed_loads_are_seen(tmp_path: Path) -> None:
    """A file without its row in _dlt_loads, or with a torn one, does not exist for readers."""
    landing = tmp_path / "landing"
    target = Landing(str(landing), tmp_path / "dlt")
    for n in range(3):
        target.land(table(row(n)))
    loads = committed_loads(str(landing))
    assert [load.load_id for load in loads] == sorted(load.load_id for load in loads)
    day = Path(loads[0].files[0]).parent
    (day / "9999999999.1.abc.parquet").write_bytes(b"PAR1 half")
    (day / f"{loads[0].load_id}.abc.parquet.part").write_bytes(b"half")
    assert committed_loads(str(landing)) == loads
    records = {json.loads(path.read_text())["load_id"]: path for path in (landing / "_dlt_loads").glob("*.jsonl")}
    records[loads[1].load_id].write_text('{"load_id": ')
    assert committed_loads(str(landing)) == [loads[0], loads[2]]
    records[loads[1].load_id].write_text(json.dumps({"load_id": loads[1].load_id, "status": 1}))
    assert committed_loads(str(landing)) == [loads[0], loads[2]]


def test_loads_after_one(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    target = Landing(str(landing), tmp_path / "dlt")
    assert committed_loads(str(landing)) == []
    for n in range(4):
        target.land(table(row(n)))
    loads = committed_loads(str(landing))
    for index, load in enumerate(loads):
        assert committed_loads(str(landing), after=load.load_id) == loads[index + 1 :]


def test_a_noted_file_is_found_where_the_landing_is_now(tmp_path: Path) -> None:
    land([row(1)], str(tmp_path / "responses" / "old"), tmp_path / "dlt")
    ((noted,),) = (load.files for load in committed_loads(str(tmp_path / "responses" / "old")))
    assert in_landing(str(tmp_path / "responses" / "old"), noted) == noted
    (tmp_path / "responses" / "old").rename(tmp_path / "new")
    ((moved,),) = (load.files for load in committed_loads(str(tmp_path / "new")))
    assert in_landing(str(tmp_path / "new"), noted) == moved
    name = "2026-03-04/1772582400.1.a.parquet"
    for old in ("s3://bucket/a/landing", "/a/landing"):
        assert in_landing("memory://bucket/landing", f"{old}/responses/{name}").endswith(f"landing/responses/{name}")
    assert in_landing("memory://bucket/landing", noted).startswith("memory://")


def test_a_landing_without_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LandingFault, match="s3://bucket is no folder"):
        Landing("s3://bucket", tmp_path / "dlt").land_pending()


def test_an_unreadable_pipeline_state_is_put_aside(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    Landing(str(landing), tmp_path / "dlt").land(table(row(1)))
    (tmp_path / "dlt" / "recorder" / "state.json").write_text("{")
    Landing(str(landing), tmp_path / "dlt").land(table(row(2)))
    assert [found["key"] for found in landed(landing)] == ["1", "2"]
    assert len(list(tmp_path.glob("dlt.broken-*"))) == 1


# Where the process is killed: before or after a step of dlt's own code, each in a real process.
CRASHES = {
    "before extract": ("dlt.pipeline.pipeline", "Pipeline", "extract", False),
    "between extract and normalize": ("dlt.pipeline.pipeline", "Pipeline", "extract", True),
    "between normalize and load": ("dlt.pipeline.pipeline", "Pipeline", "normalize", True),
    "before the file is put": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemLoadJob", "run", False),
    "after the file is put": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemLoadJob", "run", True),
    "before the commit": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemClient", "_store_load", False),
    "after the commit": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemClient", "_store_load", True),
    "before the journal is deleted": ("ingest.landing.outbox", "Outbox", "_delete", False),
}
CHILD = """
import asyncio, importlib, os, signal, sys
from pathlib import Path
from ingest.landing.outbox import Outbox
from ingest.landing.rows import Row

home, landing, first, module, owner, name, after = sys.argv[1:8]


async def main():
    outbox = Outbox(Path(home), landing)
    for n in range(int(first), int(first) + 3):
        outbox.put(Row(60_000, "binance", "open_interest", str(n), "{}", 200, n, n + 1, 1, None, "{}"))
    if module:
        cls = getattr(importlib.import_module(module), owner)
        step = getattr(cls, name)

        def dying(*args, **kwargs):
            if after == "True":
                step(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(cls, name, dying)
    landed = await outbox.land()
    sys.exit(landed.fault)


asyncio.run(main())
"""


@pytest.mark.parametrize("crash", CRASHES)
def test_kill_while_landing_loses_and_doubles_nothing(crash: str, tmp_path: Path) -> None:
    """Killed at the step, started again: every row is in committed loads, once by its identity."""
    landing = tmp_path / "landing"

    def start(first: int, *at: object) -> int:
        args = [sys.executable, "-c", CHILD, tmp_path / "recorder", landing, first, *(at or ("", "", "", ""))]
        return subprocess.run([str(arg) for arg in args], timeout=120, check=False, env=os.environ).returncode

    assert start(0, *CRASHES[crash]) == -9
    assert start(3) == 0
    rows = landed(landing)
    assert sorted({identity(found)[3] for found in rows}) == [str(n) for n in range(6)]
    assert len({identity(found) for found in rows}) == 6
    assert not list((tmp_path / "recorder" / "journal").iterdir())


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a small file system is not permitted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


BIG = "".join(map(str, range(40_000)))


async def test_a_journal_without_a_whole_row_is_no_load(tmp_path: Path) -> None:
    """Killed while it wrote the first one: nothing lands, and the file does not stay for ever."""
    from ingest.landing.outbox import Outbox

    outbox = Outbox(tmp_path / "recorder", str(tmp_path / "landing"))
    outbox.put(row(0))
    (path,) = outbox.journal.close_file()
    os.truncate(path, path.stat().st_size - 100)
    result = await outbox.land()
    assert result is not None
    assert (result.rows, result.fault) == (0, None)
    assert not committed_loads(str(tmp_path / "landing"))
    assert not outbox.journal.close_file()


async def test_a_full_landing_is_one_clear_error_and_nothing_is_lost(
    tiny_disk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows stay in the journal, each round tries again, and with room all of them are landed once."""
    from ingest.landing.outbox import Outbox

    landing = tiny_disk / "landing"
    outbox = Outbox(tmp_path / "recorder", str(landing))
    outbox.put(row(0))
    await outbox.land()
    ballast = tiny_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65536))
    for n in (1, 2, 3):
        outbox.put(row(n, f"{n}{BIG}"))
        result = await outbox.land()
        assert result is not None
        assert "No space left on device" in (result.fault or "")
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert str(landing) in errors[0]
    ballast.unlink()
    result = await outbox.land()
    assert result is not None
    assert result.fault is None
    assert sorted(found["key"] for found in landed(landing)) == ["0", "1", "2", "3"]
    assert [found["body"] for found in landed(landing) if found["key"] == "3"] == [f"3{BIG}"]


def test_a_journal_on_a_full_disk_keeps_rows_in_memory(
    tiny_disk: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written stays readable, what could not be written follows when there is room."""
    from ingest.landing import journal as module

    monkeypatch.setattr(module, "RETRY_S", 0)
    journal = Journal(tiny_disk / "journal")
    journal.append([row(0)])
    for n in range(1, 8):
        journal.append([row(n, f"{n}{BIG}")])
    assert journal.waiting
    assert "No space left on device" in (journal.fault or "")
    first = journal.close_file()
    kept = [found for path in first for found in rows_of(path)]
    assert kept == [row(0), *(row(n, f"{n}{BIG}") for n in range(1, len(kept)))]
    for path in first:
        path.unlink()
    rest = [found for path in journal.close_file() for found in rows_of(path)]
    while journal.waiting:
        for path in journal.close_file():
            path.unlink()
    assert kept + rest == [row(0), *(row(n, f"{n}{BIG}") for n in range(1, 8))][: len(kept + rest)]
    assert sum(record.levelname == "ERROR" for record in caplog.records) == 1


def test_beyond_the_bound_bodies_are_dropped_and_the_row_says_so(
    tiny_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ingest.landing import journal as module

    monkeypatch.setattr(module, "RETRY_S", 0)
    monkeypatch.setattr(module, "MEMORY_BYTES", 2 * 2**20)
    journal = Journal(tiny_disk / "journal")
    journal.append([row(n, f"{n}{BIG}") for n in range(12)])
    assert journal.waiting == 12
    monkeypatch.setattr(module, "MEMORY_BYTES", 2**18)
    journal.append([row(12, f"12{BIG}")])
    found = [row for path in journal.close_file() for row in rows_of(path)]
    assert [row.key for row in found] == [str(n) for n in range(13)]
    dropped = [row for row in found if row.body is None]
    assert dropped
    assert all("body dropped: the journal could not be written" in (row.error or "") for row in dropped)


@pytest.mark.parametrize("marker", [None, b"", b'{"initial_ver'], ids=["none", "empty", "cut off"])
def test_a_folder_that_is_there_already_is_taken(tmp_path: Path, marker: bytes | None) -> None:
    """A mounted volume, or what a start left that was killed while it made the folder."""
    landing = tmp_path / "landing"
    landing.mkdir()
    if marker is not None:
        (landing / "init").write_bytes(marker)
    for n in range(2):
        land([row(n)], str(landing), tmp_path / "dlt")
    assert len(committed_loads(str(landing))) == 2
