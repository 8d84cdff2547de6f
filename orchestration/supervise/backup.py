"""Backup and restore of a home. A backup is a folder named by its time that is complete by itself: files that have not
changed since the one before are hard links to it, so that the next costs only what is new. It is made while everything
runs, and an interrupted one is never taken for a backup.

In it is what cannot be fetched or computed again (the landing without its staged rows, what waits to be landed, the
keys) and what would take long: the warehouse, the minutes of files, the progress of the backfill. Replicas, docs and
logs are made again.
"""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest.landing.dlt_files import LOADS
from orchestration.config.places import is_file
from orchestration.config.settings import WAREHOUSE, Settings
from orchestration.warehouse import lake
from orchestration.warehouse.access import open_warehouse
from orchestration.warehouse.staged import FOLDER as STAGED
from orchestration.warehouse.writer import PipelineError, Report, writer_lock

NAME = "%Y%m%dT%H%M%S.%fZ"
PARTIAL, MANIFEST = ".partial", "backup.json"
FORMAT = 1
KEPT = 3
# Longer than any build: the minutes that are landed meanwhile are built afterwards.
LOCK_WAIT_S = 900.0
# A locked file of a running process, dlt's own state, which it makes again from the landing, and the recorder's name,
# which no two have.
LEFT_OUT = ("lock", "dlt", "name")


@dataclass(frozen=True)
class Backup:
    """A backup that was made: its folder, its files, and those of them and their bytes that were new."""

    folder: Path
    files: int
    new_files: int
    new_bytes: int


def backup(settings: Settings, target: Path, keep: int = KEPT, report: Report = print) -> Backup:
    """Make a backup below `target` and remove the oldest beyond `keep`; raises PipelineError if nothing is there to be
    backed up. A landing or a warehouse that is not on this machine is left out, and reported."""
    if not settings.home.is_dir():
        raise PipelineError(f"{settings.home} does not exist: there is nothing to back up")
    if target.resolve().is_relative_to(settings.home.resolve()):
        raise PipelineError(f"{target} is inside of {settings.home}: choose a folder elsewhere, best on another disk")
    target.mkdir(parents=True, exist_ok=True)
    for left in target.glob(f"*{PARTIAL}"):
        shutil.rmtree(left)
    earlier = backups(target)
    made = _Making(target / f"{datetime.now(UTC):{NAME}}{PARTIAL}", earlier[-1] if earlier else None)
    # What waits to be landed first: a row that is landed meanwhile is then in both, and is built once.
    for part in ("recorder", "backfill"):
        made.tree(settings.home / part, part)
    for name in ("origin", "keys.json"):
        made.file(settings.home / name, name)
    with writer_lock(settings.home, "backup", wait_s=LOCK_WAIT_S, report=report):
        if "://" in settings.landing:
            report(f"the landing {settings.landing} is not on this machine: back it up where it is")
        else:
            # A load counts by its commit: those that are copied first have all of their files.
            made.tree(Path(settings.landing) / LOADS, f"landing/{LOADS}")
            made.tree(Path(settings.landing), "landing", without=STAGED)
        if not is_file(settings.warehouse):
            report(f"the warehouse {lake.shown(settings.warehouse)} is not on this machine: it is left out")
        elif Path(settings.warehouse).exists():
            with open_warehouse(settings) as con:
                con.execute("checkpoint")
            made.file(Path(settings.warehouse), WAREHOUSE)
        made.tree(settings.minutes, "minutes")
        # The number of the edition, which goes on after a restore.
        made.file(settings.serving / "current.json", "serving/current.json")
    made.finish()
    for old in backups(target)[: -max(1, keep)]:
        shutil.rmtree(old)
    return Backup(made.folder.with_name(made.folder.name.removesuffix(PARTIAL)), len(made.sizes), *made.new)


def backups(target: Path) -> list[Path]:
    """The complete backups below a folder, the oldest first."""
    return sorted(file.parent for file in target.glob(f"*/{MANIFEST}") if not file.parent.name.endswith(PARTIAL))


class _Making:
    """A backup that is being made: its folder, and the one before."""

    def __init__(self, folder: Path, before: Path | None) -> None:
        self.folder = folder
        self.before = before
        self.sizes: dict[str, int] = {}
        self.new = [0, 0]
        self.began_s = time.time()

    def tree(self, source: Path, name: str, without: str = "") -> None:
        """Take the files below a folder, without those in its folder `without`."""
        for file in _files(source):
            if file.relative_to(source).parts[0] != without:
                self.file(file, f"{name}/{file.relative_to(source).as_posix()}")

    def file(self, source: Path, name: str) -> None:
        """Take a file, unless it is taken already or gone."""
        if name in self.sizes:
            return
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if self._is_same(source, name):
                _link(self.before / name if self.before else source, target)
            elif source.suffix == ".sqlite":
                _copy_sqlite(source, target)
                self._count(target)
            else:
                shutil.copy2(source, target)
                self._count(target)
            self.sizes[name] = target.stat().st_size

    def _is_same(self, source: Path, name: str) -> bool:
        if self.before is None or source.suffix == ".sqlite":
            return False
        with suppress(FileNotFoundError):
            now, then = source.stat(), (self.before / name).stat()
            return (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns)
        return False

    def _count(self, target: Path) -> None:
        self.new[0] += 1
        self.new[1] += target.stat().st_size

    def finish(self) -> None:
        """Write the list of files, and give the folder its name once all of it is on disk."""
        if not self.sizes:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise PipelineError("there is nothing to back up: nothing has been recorded yet")
        written = self.folder / MANIFEST
        written.write_text(json.dumps({"format": FORMAT, "made_s": self.began_s, "files": self.sizes}))
        os.sync()
        self.folder.rename(self.folder.with_name(self.folder.name.removesuffix(PARTIAL)))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _copy_sqlite(source: Path, target: Path) -> None:
    """A consistent copy of a database that another process may be writing."""
    uri = f"{source.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as read, closing(sqlite3.connect(target)) as write:
        read.backup(write)


def restore(settings: Settings, origin: Path) -> tuple[Path, int]:
    """Fill an empty home from a backup, or from the newest below a folder; returns the backup and its files. The caller
    holds the home's lock. Raises PipelineError for a home that is not empty and for a damaged backup, before anything
    is written."""
    folder = origin if (origin / MANIFEST).is_file() else next(iter(reversed(backups(origin))), None)
    if folder is None:
        raise PipelineError(f"{origin} holds no backup: give the folder that `tidemark backup` was given")
    listed = _listed(folder)
    targets = {name: _place(settings, name) for name in listed}
    if taken := next((path for path in targets.values() if path is not None and path.exists()), None):
        raise PipelineError(f"{taken} exists: restore into an empty TIDEMARK_HOME, or move it away first")
    for name, target in targets.items():
        if target is None:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # Copied, not linked: the warehouse is written in place.
        shutil.copy2(folder / name, target)
    return folder, len(targets)


def _listed(folder: Path) -> dict[str, int]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        files: dict[str, int] = manifest["files"]
    except (ValueError, LookupError) as error:
        raise PipelineError(f"{folder / MANIFEST} is damaged: {error!r}") from None
    if manifest.get("format") != FORMAT:
        raise PipelineError(f"{folder} has the format {manifest.get('format')}, but this version reads {FORMAT}")
    for name, size in files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise PipelineError(f"{path} is missing or damaged: it should have {size} bytes")
    return files


def _place(settings: Settings, name: str) -> Path | None:
    """Where a file of a backup belongs; None for what has no place on this machine."""
    part, _, rest = name.partition("/")
    if part == "landing":
        return None if "://" in settings.landing else Path(settings.landing) / rest
    if part == WAREHOUSE:
        return None if not is_file(settings.warehouse) else Path(settings.warehouse)
    if part == "minutes":
        return settings.minutes / rest
    return settings.home / name
