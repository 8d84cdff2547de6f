"""The folder of bulk files, `<home>/bulk`: versions of files, and the manifest that lists them.

    manifest.json                                       what there is, replaced as a whole
    <table>/day=2026-11-17/<table>.parquet              the newest version, for readers of the folder: one file a period
    .versions/<table>/day=2026-11-17/<sha256>.parquet   the versions that may still be read, which the API serves

An edition names the versions that it was published with, so that the server reads minutes older than the tiers keep
from them: what it answers depends on the edition alone.

Both are names of the same file (hard links), so that replacing a version is one rename: a reader of the folder finds
either, never both or none. A version is never written again. It is complete and synced to disk before it has its name,
and stays for some days after it was replaced, because a client may be reading it in parts.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from orchestration.config.clock import DAY_MS, now_ms
from orchestration.publish.edition import replace_text, sync_folder
from orchestration.warehouse.writer import PipelineError, literals

MANIFEST, VERSIONS = "manifest.json", ".versions"
REPLACED_KEPT_MS = 2 * DAY_MS
STATE = """
create table if not exists bulk_files (table_name varchar, start_ms bigint, end_ms bigint, version varchar);
create table if not exists bulk_listed (manifest_ns bigint);
"""
# A manifest of years is megabytes: while many files are written it is not written after each of them.
SAVE_EVERY_S = 5.0


class Period(NamedTuple):
    """What a file covers, UTC epoch ms, and the name of its folder. The end of a month that goes on is that of its last
    finished day."""

    partition: str
    start: int
    end: int


@dataclass(frozen=True)
class BulkFile:
    """The newest version of a table's file of a period.

    digest            of its rows, in any order: the same if nothing has changed
    buckets_missing   steps of the period without a row
    minutes_missing   minutes of the period in which nothing was recorded
    minutes_partial   further ones in which something of an exchange was not recorded
    edition           the published state that it was read from
    sha256, bytes     of the file, once it is written
    """

    table: str
    partition: str
    start: int
    end: int
    rows: int
    digest: str
    buckets_missing: int
    minutes_missing: int
    minutes_partial: int
    edition: int
    written_ms: int
    sha256: str = ""
    bytes: int = 0

    @property
    def version(self) -> str:
        """Its path below the folder of versions."""
        return f"{self.table}/{self.partition}/{self.sha256}.parquet"


@dataclass
class BulkFolder:
    """The folder and what its manifest says; one process writes it.

    files      the newest versions by table and partition
    tables     step, description and columns of each table
    replaced   older versions by their path, and since when they are replaced
    checked    build and finish time of the newest state whose changes are all in the files; None if unknown
    """

    path: Path
    files: dict[tuple[str, str], BulkFile] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)
    checked: tuple[int, int] | None = None
    _saved_s: float = 0.0

    @classmethod
    def open(cls, path: Path) -> "BulkFolder":
        """The folder as the last writer left it, without what a killed one began. PipelineError if there is a manifest
        that cannot be read: some of its days may be in no edition any more, so that nothing is done to them."""
        path.mkdir(parents=True, exist_ok=True)
        try:
            said = json.loads((path / MANIFEST).read_text())
            files = [BulkFile(**one) for one in said["files"]]
            checked = (said["checked"][0], said["checked"][1]) if said["checked"] else None
            folder = cls(
                path, {(one.table, one.partition): one for one in files}, said["tables"], said["replaced"], checked
            )
        except FileNotFoundError:
            return cls(path)
        except (ValueError, LookupError, TypeError) as error:
            raise PipelineError(f"{path / MANIFEST} cannot be read: {error}; move {path} away to begin again") from None
        folder._sweep()
        return folder

    def put(self, of: BulkFile, write: Callable[[Path], None]) -> BulkFile:
        """Write a version, whose checksum and size are filled in, and make it the newest of its period."""
        versions = self.path / VERSIONS / of.table / of.partition
        versions.mkdir(parents=True, exist_ok=True)
        written = versions / "new"
        write(written)
        with written.open("rb") as file:
            os.fsync(file.fileno())
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        made = replace(of, sha256=sha256, bytes=written.stat().st_size)
        written.replace(self.path / VERSIONS / made.version)
        sync_folder(versions)
        self._show(made)
        self._add(made)
        return made

    def _show(self, made: BulkFile) -> None:
        shown = self.path / made.table / made.partition / f"{made.table}.parquet"
        shown.parent.mkdir(parents=True, exist_ok=True)
        beside = shown.with_name(".new")
        beside.unlink(missing_ok=True)
        os.link(self.path / VERSIONS / made.version, beside)
        # A rename between two names of one file does nothing, and leaves both.
        beside.replace(shown)
        beside.unlink(missing_ok=True)
        sync_folder(shown.parent)

    def _add(self, made: BulkFile) -> None:
        before = self.files.get((made.table, made.partition))
        if before and before.sha256 != made.sha256:
            self.replaced[before.version] = now_ms()
        self.replaced.pop(made.version, None)
        self.files[made.table, made.partition] = made
        if time.monotonic() - self._saved_s > SAVE_EVERY_S:
            self.save()

    def remove_before(self, kept_from: int) -> int:
        """Remove the files of all that ends before this time, and versions that were replaced some days ago; returns
        how many files that were."""
        old = [one for one in self.files.values() if one.end <= kept_from]
        for one in old:
            del self.files[one.table, one.partition]
            self.replaced[one.version] = now_ms()
        gone = [version for version, since in self.replaced.items() if since < now_ms() - REPLACED_KEPT_MS]
        for version in gone:
            del self.replaced[version]
        # First: what is listed is there.
        self.save()
        for one in old:
            shutil.rmtree(self.path / one.table / one.partition, ignore_errors=True)
        for version in gone:
            (self.path / VERSIONS / version).unlink(missing_ok=True)
        return len(old)

    def save(self) -> None:
        """Replace the manifest."""
        said = {
            "checked": self.checked,
            "tables": self.tables,
            "replaced": self.replaced,
            "files": [asdict(one) for _, one in sorted(self.files.items())],
        }
        replace_text(self.path / MANIFEST, json.dumps(said))
        self._saved_s = time.monotonic()

    def _sweep(self) -> None:
        """Forget files that are gone, and remove what the manifest does not list."""
        versions = self.path / VERSIONS
        self.files = {key: one for key, one in self.files.items() if (versions / one.version).is_file()}
        known = {one.version for one in self.files.values()} | self.replaced.keys()
        for file in _files(versions):
            if str(file.relative_to(versions)) not in known:
                file.unlink(missing_ok=True)
        for file in _files(self.path):
            if (file.parent.parent.name, file.parent.name) not in self.files:
                shutil.rmtree(file.parent, ignore_errors=True)


def list_files(con: duckdb.DuckDBPyConnection, folder: Path, tables: Collection[str]) -> None:
    """Write into the replica which versions there are of these tables, if the manifest is another one than before. One
    that cannot be read leaves what was listed."""
    try:
        state = (folder / MANIFEST).stat().st_mtime_ns
        if con.execute("from bulk_listed").fetchone() == (state,):
            return
        files = [BulkFile(**one) for one in json.loads((folder / MANIFEST).read_text())["files"]]
    except FileNotFoundError:
        state, files = 0, []
    except (OSError, ValueError, LookupError, TypeError):
        return
    con.execute("delete from bulk_files")
    if rows := [f"({literals(one.table, one.start, one.end, one.version)})" for one in files if one.table in tables]:
        con.execute(f"insert into bulk_files values {', '.join(rows)}")
    con.execute(f"delete from bulk_listed; insert into bulk_listed values ({state})")


def _files(folder: Path) -> Iterator[Path]:
    """The files of all periods of all tables."""
    return (file for file in list(folder.glob("*/*/*")) if file.is_file())
