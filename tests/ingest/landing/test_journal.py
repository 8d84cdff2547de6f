"""The journal: received rows survive any crash and any full disk."""

import errno
import io
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.landing.journal import Journal, batches
from ingest.landing.rows import Row
from tests.support.landing_rows import row, rows_of

texts = st.none() | st.text()


numbers = st.integers(-(2**63), 2**63 - 1)


any_row = st.builds(
    Row, numbers, st.text(), st.text(), st.text(), st.text(), st.none() | numbers, numbers, st.none() | numbers,
    numbers, texts, texts,
)  # fmt: skip


@settings(max_examples=40)
@given(batches=st.lists(st.lists(any_row, min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_journal_returns_the_rows_that_were_written(
    batches: list[list[Row]], tmp_path_factory: pytest.TempPathFactory
) -> None:
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


BIG = "".join(map(str, range(40_000)))


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
