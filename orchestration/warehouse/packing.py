"""How compacted responses lie in a file: each beside the one before it of the same request, so that what both say costs
little.

Answers of consecutive minutes are nearly alike, but as they arrive megabytes of other answers lie between them, which
is farther than a compressor looks back. So the rows of some minutes, a block, are sorted by request. A body comes back
byte for byte, and any reader of Parquet reads it.

Measured on recorded minutes of the simulated full universe, as gigabytes and seconds of CPU a day: as they came, at
zstd's level 1, 4.13 and 83; sorted 3.79 and 91; sorted at level 6 3.53 and 400, at level 9 3.34 and 700. Levels 2 to 4
pack numbers worse than level 1, and blocks of 30 minutes save another 2 % only. Whole blocks are read equally fast, so
windows end with one; a reader of one minute decompresses ten: a sixth of a second instead of a twentieth.
`benchmarks.landing` measures it again.
"""

from collections.abc import Iterator, Sequence
from typing import IO

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ingest.landing.rows import SCHEMA
from orchestration.warehouse.windows import BLOCK_MS, minutes_of_files
from orchestration.warehouse.writer import literals

# A block ends earlier after so many bytes: a backfill may bring 100 MB in each minute.
BLOCK_BYTES = 500_000_000
# The rows of a group are compressed as one page. DuckDB skips groups by the statistics of their columns.
GROUP_ROWS, PAGE_BYTES = 2048, 1 << 30
LEVEL = 9
# Texts that recur within a group; of the others, an extreme value would be a whole body.
RECURRING = ["venue", "endpoint", "key", "params", "error"]
STORED = pa.schema([field.with_nullable(True) for field in SCHEMA])


def packed_rows(con: duckdb.DuckDBPyConnection, files: Sequence[str], where: str = "true") -> Iterator[pa.RecordBatch]:
    """The rows of landed files that satisfy `where`, block by block in the order in which they are packed.

    The connection is busy until the last of them.
    """
    columns = ", ".join(SCHEMA.names)
    for minutes, sources in _blocks(con, files):
        yield from con.execute(
            f"select {columns} from read_parquet([{literals(*sources)}], union_by_name = true) "
            f"where tick_ms between {minutes[0]} and {minutes[-1]} and {where} "
            "order by venue, endpoint, key, tick_ms, requested_ms"
        ).to_arrow_reader(GROUP_ROWS)


def packed_file(file: IO[bytes] | pa.NativeFile) -> pq.ParquetWriter:
    """A writer of packed rows into an open file: each batch becomes a row group."""
    return pq.ParquetWriter(
        file,
        STORED,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=RECURRING,  # type: ignore[arg-type]  # the stubs know no list
        write_statistics=[name for name in SCHEMA.names if name != "body"],
        data_page_size=PAGE_BYTES,
    )


def _blocks(con: duckdb.DuckDBPyConnection, files: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """The minutes of each block, in order, and the files that hold them."""
    minutes: list[int] = []
    sources: set[str] = set()
    size = 0.0
    for file, tick_ms, _, share, *_ in minutes_of_files(con, files):
        begins = not minutes or tick_ms != minutes[-1]
        if minutes and begins and (tick_ms // BLOCK_MS != minutes[0] // BLOCK_MS or size > BLOCK_BYTES):
            yield minutes, sorted(sources)
            minutes, sources, size = [], set(), 0.0
        if begins:
            minutes = [*minutes, tick_ms]
        sources.add(file)
        size += share
    if minutes:
        yield minutes, sorted(sources)
