"""Packed rows: every row as it came, in blocks of minutes, and repeated answers stored once in each."""

import io
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.landing.rows import SCHEMA, Row, to_batch
from orchestration.warehouse import packing
from orchestration.warehouse.packing import packed_file, packed_rows
from orchestration.warehouse.windows import BLOCK_MS
from tests.support.pipeline.pipeline_home import MINUTE, T0

KEYS = [f"COIN{n:02}" for n in range(60)]
BODY_BYTES = 20_000


def a_minute(tick_ms: int, said: dict[str, str]) -> list[Row]:
    """The answers of one minute in an order by chance: what each key says every minute, and the minute."""
    keys = random.Random(tick_ms).sample(KEYS, len(KEYS))
    return [
        Row(tick_ms, "binance", "index_books", key, "{}", 200, tick_ms + n, None, 1, None, f"{said[key]} é\t{tick_ms}")
        for n, key in enumerate(keys)
    ]


@pytest.fixture
def landed(tmp_path: Path) -> list[str]:
    """A file a minute: two blocks of ten minutes and a minute of a third, with late rows in the file after theirs."""
    chance = random.Random(1)
    said = {key: chance.randbytes(BODY_BYTES // 2).hex() for key in KEYS}
    late: list[Row] = []
    for n in range(21):
        rows = a_minute(T0 + n * MINUTE, said)
        pq.write_table(pa.Table.from_batches([to_batch(late + rows[3:])], SCHEMA), tmp_path / f"{n:02}.parquet")
        late = rows[:3]
    pq.write_table(pa.Table.from_batches([to_batch(late)], SCHEMA), tmp_path / "21.parquet")
    return sorted(str(file) for file in tmp_path.iterdir())


def packed(files: list[str], where: str = "true") -> pa.BufferReader:
    written = io.BytesIO()
    with duckdb.connect() as con, packed_file(written) as file:
        for rows in packed_rows(con, files, where):
            file.write_batch(rows)
    return pa.BufferReader(written.getvalue())


def rows_of(*files: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for file in files for row in pq.read_table(file).to_pylist()]


def test_every_row_comes_back_as_it_came(landed: list[str]) -> None:
    assert sorted(rows_of(packed(landed)), key=repr) == sorted(rows_of(*landed), key=repr)
    some = rows_of(packed(landed, "key = 'COIN07'"))
    assert [row[0] for row in some] == [T0 + n * MINUTE for n in range(21)]


def test_a_block_has_ten_minutes_by_request(landed: list[str]) -> None:
    """A reader of a minute skips the row groups of other blocks by their statistics, which bodies have none of."""
    file = packed(landed)
    assert [row[3] for row in rows_of(file)] == [
        key for minutes in (10, 10, 1) for key in KEYS for _ in range(minutes)
    ], "each answer beside the one before it"
    metadata = pq.read_metadata(file)
    spans: list[tuple[int, int]] = []
    for number in range(metadata.num_row_groups):
        ticks, *_, body = (metadata.row_group(number).column(place) for place in range(len(SCHEMA)))
        assert ticks.statistics is not None
        spans.append((int(ticks.statistics.min or 0), int(ticks.statistics.max or 0)))
        assert not body.is_stats_set
    assert {(first - T0) // BLOCK_MS for first, _ in spans} == {0, 1, 2}
    assert all(first // BLOCK_MS == last // BLOCK_MS for first, last in spans)


def test_what_answers_repeat_costs_little(landed: list[str]) -> None:
    """They cannot be compressed by themselves, except that hexadecimal digits have four bits of eight."""
    said_once = len(KEYS) * BODY_BYTES // 2
    assert packed(landed).size() < 3 * 1.2 * said_once
    assert sum(Path(file).stat().st_size for file in landed) > 21 * said_once


def test_a_block_of_large_minutes_is_shorter(landed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BLOCK_BYTES", 1)
    assert [row[0] for row in rows_of(packed(landed))] == [T0 + n * MINUTE for n in range(21) for _ in KEYS]
