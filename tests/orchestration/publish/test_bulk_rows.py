"""Rows of a period: read in parts, from editions that have the same, in the readers' order."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.publish import bulk_rows
from orchestration.publish.bulk_folder import Period
from orchestration.publish.bulk_rows import EditionReader, RowsChangedError, read_rows, write_parquet
from tests.support.pipeline.marts import COINS, FEW, ONE_THREAD, T0, MartWarehouse

NOON = T0 + 12 * HOUR_MS
DAY = Period("day=2026-03-04", T0, T0 + DAY_MS)


@pytest.fixture
def made(tmp_path: Path) -> MartWarehouse:
    warehouse = MartWarehouse(tmp_path, (*FEW, "gaps"))
    warehouse.build(NOON, NOON + MINUTE_MS)
    warehouse.publish()
    return warehouse


@pytest.mark.requirement("bulk:whole")
def test_rows_come_in_parts_and_from_one_state(made: MartWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_rows, "BATCH_ROWS", 4)
    monkeypatch.setattr(bulk_rows, "HELD_S", 0.0)
    table = next(table for table in made.served.tables if table.name == "series_market_1m")
    path = Path(made.path).with_name("rows.parquet")
    with EditionReader(made.serving, ONE_THREAD) as reader:
        read = read_rows(reader, table, DAY)
        assert read.coins == (("C0", "C1"), ("C2", "C3"), ("C4", "C5"), ("C6", "C7"))
        assert (read.rows, read.buckets) == (16, 2)
        # A newer edition with the same rows of the day.
        made.build(NOON + DAY_MS)
        made.publish()
        write_parquet(reader, read, path, {})
        written = pq.read_table(path)
        assert written.column("base").to_pylist() == [coin for coin in COINS for _ in range(2)]
        assert written.column("t").to_pylist() == [NOON, NOON + MINUTE_MS] * len(COINS)
        assert pq.ParquetFile(path).num_row_groups == 4
        # One with other rows.
        made.build(NOON + DAY_MS + MINUTE_MS, late=((NOON, "C5"),))
        made.publish()
        with pytest.raises(RowsChangedError):
            write_parquet(reader, read, path, {})
        assert read_rows(reader, table, DAY).digest != read.digest


@pytest.mark.requirement("bulk:whole")
def test_an_edition_is_held_for_seconds_only(made: MartWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    with EditionReader(made.serving, ONE_THREAD) as reader:
        assert reader.follow() == 1
        made.publish(force=True)
        assert reader.follow() == 1
        monkeypatch.setattr(bulk_rows, "HELD_S", 0.0)
        assert reader.follow() == 2
        # The replica of the first edition is free to be written.
        assert made.publish(force=True, reader_wait_s=0) is not None
