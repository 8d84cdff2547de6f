"""The folder of bulk files: versions that are complete, a manifest that is always readable, and no leftovers."""

import hashlib
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from orchestration.config.clock import DAY_MS
from orchestration.publish.bulk_folder import STATE, BulkFile, BulkFolder, list_files
from orchestration.warehouse.writer import PipelineError

FILE = BulkFile("t", "day=1970-01-02", DAY_MS, 2 * DAY_MS, 1, "7", 0, 0, 0, 1, 5)


def put(folder: BulkFolder, content: bytes, of: BulkFile = FILE) -> BulkFile:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return folder.put(of, write)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def version(content: bytes) -> str:
    return f".versions/t/day=1970-01-02/{hashlib.sha256(content).hexdigest()}.parquet"


@pytest.mark.requirement("bulk:whole")
def test_a_version_has_its_checksum_and_the_folder_shows_the_newest(tmp_path: Path) -> None:
    folder = BulkFolder.open(tmp_path)
    first = put(folder, b"one")
    assert (first.sha256, first.bytes) == (hashlib.sha256(b"one").hexdigest(), 3)
    put(folder, b"two")
    shown = tmp_path / "t/day=1970-01-02/t.parquet"
    assert shown.read_bytes() == b"two"
    assert (tmp_path / version(b"one")).read_bytes() == b"one"
    assert list(folder.replaced) == [first.version]
    # The same content again is the same version, and no longer a replaced one.
    put(folder, b"one")
    assert shown.read_bytes() == b"one"
    assert list(folder.replaced) == [version(b"two").removeprefix(".versions/")]
    folder.save()
    again = BulkFolder.open(tmp_path)
    assert (again.files, again.replaced) == (folder.files, folder.replaced)
    assert names(tmp_path) == sorted([version(b"one"), version(b"two"), "manifest.json", "t/day=1970-01-02/t.parquet"])


@pytest.mark.requirement("bulk:whole")
def test_what_the_manifest_does_not_list_is_removed_and_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    folder = BulkFolder.open(tmp_path)
    put(folder, b"one")
    folder.save()
    # A writer that was killed: a part, a version that is not listed, a period that is not listed.
    (tmp_path / ".versions/t/day=1970-01-02/new").write_bytes(b"ha")
    (tmp_path / version(b"other")).write_bytes(b"other")
    (tmp_path / "t/day=1970-01-03").mkdir()
    (tmp_path / "t/day=1970-01-03/t.parquet").write_bytes(b"three")
    BulkFolder.open(tmp_path)
    assert names(tmp_path) == sorted([version(b"one"), "manifest.json", "t/day=1970-01-02/t.parquet"])
    (tmp_path / version(b"one")).unlink()
    assert BulkFolder.open(tmp_path).files == {}


@pytest.mark.requirement("bulk:whole")
@pytest.mark.parametrize("text", ["{", "[]", '{"files": [{}], "checked": null}'])
def test_nothing_is_done_to_files_whose_manifest_cannot_be_read(tmp_path: Path, text: str) -> None:
    put(BulkFolder.open(tmp_path), b"one")
    (tmp_path / "manifest.json").write_text(text)
    before = names(tmp_path)
    with pytest.raises(PipelineError, match="cannot be read"):
        BulkFolder.open(tmp_path)
    (tmp_path / "manifest.json").unlink()
    assert BulkFolder.open(tmp_path).files == {}
    assert names(tmp_path) == [name for name in before if name != "manifest.json"]


@pytest.mark.requirement("bulk:kept")
def test_files_that_end_before_a_time_are_removed(tmp_path: Path) -> None:
    folder = BulkFolder.open(tmp_path)
    put(folder, b"one")
    put(folder, b"two", replace(FILE, partition="day=1970-01-03", start=2 * DAY_MS, end=3 * DAY_MS))
    assert folder.remove_before(2 * DAY_MS) == 1
    assert [partition for _, partition in folder.files] == ["day=1970-01-03"]
    assert not (tmp_path / "t/day=1970-01-02").exists()
    # Who reads it now goes on.
    assert (tmp_path / version(b"one")).exists()


@pytest.mark.requirement("series:files")
def test_a_replica_lists_the_versions_of_its_tables(tmp_path: Path) -> None:
    """Those of the manifest as it is; without one there are none, and one that cannot be read changes nothing."""
    folder = BulkFolder.open(tmp_path)
    with duckdb.connect() as con:
        con.execute(STATE)

        def listed() -> list[tuple[int, int, str]]:
            list_files(con, tmp_path, ["t"])
            return con.execute("select start_ms, end_ms, version from bulk_files order by all").fetchall()

        assert listed() == []
        for content in (b"one", b"two"):
            file = put(folder, content)
            put(folder, content, replace(FILE, table="other"))
            folder.save()
            assert listed() == [(DAY_MS, 2 * DAY_MS, file.version)]
        for text in ("{", "[]", '{"files": [{}]}'):
            (tmp_path / "manifest.json").write_text(text)
            assert listed() == [(DAY_MS, 2 * DAY_MS, file.version)]
        (tmp_path / "manifest.json").unlink()
        assert listed() == []
