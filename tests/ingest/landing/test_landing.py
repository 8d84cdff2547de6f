"""Journal and landing: received rows survive any crash and any full disk, and are landed once."""

import string
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.landing.journal import PART_BYTES, Journal, tables
from ingest.landing.landing import Landing, land
from ingest.landing.loads import LandingFault, committed_loads
from ingest.landing.rows import SCHEMA, Row
from tests.support.landing_rows import row, table
from tests.support.servers.loopback_venue import landed


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


def test_landing_a_load_keeps_few_rows_in_memory(tmp_path: Path) -> None:
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


def test_a_landing_without_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LandingFault, match="s3://bucket is no folder"):
        Landing("s3://bucket", tmp_path / "dlt").land_pending()


def test_an_unreadable_pipeline_state_is_renamed(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    Landing(str(landing), tmp_path / "dlt").land(table(row(1)))
    (tmp_path / "dlt" / "recorder" / "state.json").write_text("{")
    Landing(str(landing), tmp_path / "dlt").land(table(row(2)))
    assert [found["key"] for found in landed(landing)] == ["1", "2"]
    assert len(list(tmp_path.glob("dlt.broken-*"))) == 1


@pytest.mark.parametrize("marker", [None, b"", b'{"initial_ver'], ids=["none", "empty", "cut off"])
def test_an_existing_folder_is_used(tmp_path: Path, marker: bytes | None) -> None:
    """A mounted volume, or what a start left that was killed while it made the folder."""
    landing = tmp_path / "landing"
    landing.mkdir()
    if marker is not None:
        (landing / "init").write_bytes(marker)
    for n in range(2):
        land([row(n)], str(landing), tmp_path / "dlt")
    assert len(committed_loads(str(landing))) == 2
