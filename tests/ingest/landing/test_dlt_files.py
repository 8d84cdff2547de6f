"""The names of dlt's own files, which no document of dlt promises: an upgrade that changes one fails here first."""

import json
from pathlib import Path

import pyarrow as pa
from dlt.common.storages import LoadStorage
from dlt.destinations.impl.filesystem.filesystem import INIT_FILE_NAME

from ingest.landing.dlt_files import LOADS, MARKER, commit_file, committed_id, data_load_id, finished_packages
from ingest.landing.landing import Landing
from ingest.landing.rows import Row, to_batch

ROW = Row(60_000, "binance", "open_interest", "BTCUSDT", "{}", 200, 1, 2, 1, None, "{}")


def test_a_load_s_files_have_the_names_by_which_they_are_read(tmp_path: Path) -> None:
    target = Landing(str(tmp_path / "landing"), tmp_path / "state", "backfill")
    target.land([pa.Table.from_batches([to_batch([ROW])])])
    [commit] = (tmp_path / "landing" / LOADS).glob("*.jsonl")
    load_id = json.loads(commit.read_text())["load_id"]
    assert commit.name == commit_file(load_id), "named by the schema, whichever pipeline lands"
    assert committed_id(commit.name) == load_id
    [data] = (tmp_path / "landing").rglob("*.parquet")
    assert data_load_id(data.name) == load_id
    assert (tmp_path / "landing" / MARKER).exists()
    assert MARKER == INIT_FILE_NAME


def test_finished_packages_are_found_where_dlt_keeps_them(tmp_path: Path) -> None:
    """Without the deletion that the landing does, a finished package stays in the folder that is looked at."""
    target = Landing(str(tmp_path / "landing"), tmp_path / "state", "recorder")
    pipeline = target.pipeline()
    target.delete_finished = lambda: None  # type: ignore[method-assign]
    target.land([pa.Table.from_batches([to_batch([ROW])])])
    assert [path.name for path in finished_packages(tmp_path / "state", "recorder")] == list(
        pipeline.list_completed_load_packages()
    )
    assert LoadStorage.LOADED_FOLDER == "loaded"
