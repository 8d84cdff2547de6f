"""Rows on disk until they are landed: Arrow IPC stream files that stay readable after kill -9."""

import logging
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa

from ingest.landing.rows import SCHEMA, Row, to_batch

log = logging.getLogger(__name__)

SUFFIX = ".arrows"
PART_BYTES = 2 * 2**20
"""Bytes of rows that are read from journals, and written into a load, at once."""
RETRY_S = 1.0
"""Seconds between attempts to write while the disk refuses."""
MEMORY_BYTES = 64 * 2**20
"""Bytes of bodies that wait in memory while the disk refuses; beyond this they are dropped, and the row says so."""
MEMORY_ROWS = 200_000
"""Rows that wait in memory; beyond this the oldest are dropped, and the log says how many."""


def batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Every whole batch of a journal. Reading ends at a batch that a crash truncated, and at nothing else."""
    # Read through Python, so that a read error of the disk has an errno and is not taken for the end of the file.
    with path.open("rb") as file:
        count = 0
        try:
            with pa.ipc.open_stream(pa.PythonFile(file, "r")) as stream:
                for batch in stream:
                    yield batch
                    count += 1
        except (pa.ArrowInvalid, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            log.warning("Journal %s ends in an unfinished batch, %d batches are whole", path.name, count)


def tables(paths: Iterable[Path]) -> Iterator[pa.Table]:
    """The rows of journals in tables of about PART_BYTES, so that no more of them is in memory at once."""
    part: list[pa.RecordBatch] = []
    size = 0
    for batch in chain.from_iterable(map(batches, paths)):
        part.append(batch)
        size += batch.nbytes
        if size >= PART_BYTES:
            yield pa.Table.from_batches(part, SCHEMA).combine_chunks()
            part, size = [], 0
    if part:
        yield pa.Table.from_batches(part, SCHEMA).combine_chunks()


class Journal:
    """Appends rows to the newest file of a folder; older files wait to be landed.

    fault  why the journal cannot be written now, or None
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.rows_written = 0
        self.fault: str | None = None
        self._waiting: deque[Row] = deque()
        self._waiting_bytes = 0
        self._file: int | None = None
        self._path: Path | None = None
        self._good = 0
        self._try_again = 0.0
        self._next = 1 + max((int(path.stem) for path in folder.glob(f"*{SUFFIX}")), default=0)

    @property
    def waiting(self) -> int:
        """Rows in memory because the disk refused them."""
        return len(self._waiting)

    def append(self, rows: Sequence[Row]) -> None:
        """Write the rows as one batch. If the disk refuses, they wait in memory, up to MEMORY_BYTES and MEMORY_ROWS."""
        for row in rows:
            self._waiting.append(row)
            self._waiting_bytes += len(row.body or "")
        if self.fault is None or time.monotonic() >= self._try_again:
            self._try()

    def close_file(self) -> list[Path]:
        """Close the current file and return all files, oldest first. Rows in memory are written before, if possible."""
        self._try()
        if self._file is not None:
            os.close(self._file)
            self._file = self._path = None
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def _try(self) -> None:
        try:
            self._write()
        except OSError as error:
            # Retrying all waiting rows with each new row would cost more with every row.
            self._try_again = time.monotonic() + RETRY_S
            self._refused(error)

    def _write(self) -> None:
        if not self._waiting:
            return
        if self._file is None:
            self._path = self.folder / f"{self._next:012d}{SUFFIX}"
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            self._next += 1
            self._good = 0
        data = to_batch(self._waiting).serialize()
        if not self._good:
            data = pa.py_buffer(SCHEMA.serialize().to_pybytes() + data.to_pybytes())
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            # A truncated batch would hide all later ones from the reader.
            os.ftruncate(self._file, self._good)
            os.lseek(self._file, self._good, os.SEEK_SET)
            raise
        self._good += data.size
        self.rows_written += len(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        if self.fault is not None:
            log.info("The journal %s can be written again", self.folder)
            self.fault = None

    def _refused(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        if self.fault is None:
            log.error("The journal %s cannot be written (%s): rows wait in memory", self.folder, reason)
        self.fault = f"the journal {self.folder} cannot be written: {reason}"
        if self._waiting_bytes > MEMORY_BYTES:
            self._drop_newest_bodies(reason)
        dropped = max(0, len(self._waiting) - MEMORY_ROWS)
        for _ in range(dropped):
            self._waiting_bytes -= len(self._waiting.popleft().body or "")
        if dropped:
            log.error("%d rows were dropped: %d already wait in memory for the journal", dropped, MEMORY_ROWS)

    def _drop_newest_bodies(self, reason: str) -> None:
        # The newest first, so that the record has no gap before them.
        for index in range(len(self._waiting) - 1, -1, -1):
            if self._waiting_bytes <= MEMORY_BYTES:
                return
            row = self._waiting[index]
            if row.body is not None:
                self._waiting_bytes -= len(row.body)
                note = f"body dropped: the journal could not be written ({reason}) and {MEMORY_BYTES >> 20} MB waited"
                self._waiting[index] = row._replace(body=None, error=f"{row.error}; {note}" if row.error else note)
