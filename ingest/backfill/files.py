"""Files of an archive: reading their list, verifying and unpacking them, and which of them have been fetched."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import lz4.frame
from python_calamine import CalamineError, CalamineWorkbook

from ingest.backfill.state_file import open_state
from ingest.declaration.archive import Archive, Bucket, Packing, PathOf, month_of

MOST_BYTES = 256 * 2**20
"""Of an unpacked file. The longest known ones have a day of minutes of all of OKX's swaps: about 700,000 lines of some
90 bytes."""
CHECKSUM = ".CHECKSUM"


@dataclass(frozen=True)
class File:
    """A file: its path, its first day and the first one after it, the list's ETag, which changes when the file is
    replaced, and its bytes; without a list the ETag is that of the response when it was fetched, empty if it was not,
    and the bytes are 0. `of_days` are the files that one of a month stands for."""

    path: str
    day: date
    until: date
    etag: str = ""
    size: int = 0
    of_days: "tuple[File, ...]" = ()


def read_list(text: str, archive: Archive) -> tuple[list[File], str | None]:
    """The files of one page of the list, and where the next page starts, None after the last; ValueError if it is no
    list."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"the list of files is not XML: {error}") from error

    def value(of: ElementTree.Element, name: str) -> str:
        return of.findtext(f"{{*}}{name}", "")

    entries = root.iterfind("{*}Contents")
    listed = [(value(one, "Key"), value(one, "ETag").strip('"'), value(one, "Size")) for one in entries]
    files = []
    for path, etag, size in listed:
        if not path.endswith(CHECKSUM) and (period := archive.period_of(path)):
            files.append(File(path, *period, etag, int(size)))
    more = value(root, "IsTruncated") == "true"
    return files, (value(root, "NextMarker") or listed[-1][0]) if more and listed else None


def without_covered(files: list[File]) -> list[File]:
    """The files without those of a day of which there is one of the whole month, which has them as `of_days`."""
    days = [file for file in files if (file.until - file.day).days == 1]
    months = [file for file in files if (file.until - file.day).days > 1]
    whole = [
        replace(month, of_days=tuple(file for file in days if month.day <= file.day < month.until)) for month in months
    ]
    covered = {file.path for month in whole for file in month.of_days}
    return [*(file for file in days if file.path not in covered), *whole]


def unlisted(archive: Archive, name: str, first: date, last: date) -> list[File]:
    """The files of a market of these days where there is no list, as if none were absent: whole months if there are
    such files, which have their days as `of_days`."""
    assert not isinstance(archive.files, Bucket)
    files = [
        File(archive.files(name, day).removeprefix("/"), day, until) for day, until in archive.periods(first, last)
    ]
    if archive.months:
        for begin, end in {month_of(file.day) for file in files}:
            if begin >= first and end <= last + timedelta(days=1):
                files.append(File(archive.months(name, begin).removeprefix("/"), begin, end))
    return without_covered(files)


def paths_of(archive: Archive) -> list[PathOf]:
    """The paths of an archive without a list."""
    return [path for path in (archive.files, archive.months) if path and not isinstance(path, Bucket)]


def read_checksum(text: str, algorithm: Literal["sha256", "md5"]) -> str:
    """The digest in a checksum's text; ValueError if it has none."""
    digest = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if len(digest) != 2 * hashlib.new(algorithm).digest_size or set(digest) - set("0123456789abcdef"):
        raise ValueError(f"not {algorithm}: {text[:80]!r}")
    return digest


def rows_of(text: str) -> int:
    """How many rows CSV has whose rows begin with a digit: without a header, and each once."""
    return len({line for line in text.splitlines() if line[:1].isdigit()})


def version_of(headers: Mapping[str, str]) -> str:
    """What changes when a file is replaced, in the headers of a response; empty if they say nothing."""
    changed = " ".join(filter(None, (headers.get("Last-Modified"), headers.get("Content-Length"))))
    return headers.get("ETag", "").strip('"') or (changed if "Last-Modified" in headers else "")


def md5_of_etag(etag: str) -> str | None:
    """The MD5 in an ETag; None if the object was uploaded in parts, because its ETag is no digest of it."""
    return etag if len(etag) == 32 else None


class Unpacking:
    """A decoder of packed files with one member and, if one is given, this digest: its content. ValueError for any
    other. Afterwards `sha256` is that of the packed file."""

    def __init__(self, packing: Packing, algorithm: Literal["sha256", "md5"], digest: str | None) -> None:
        self.packing, self.algorithm, self.digest = packing, algorithm, digest
        self.sha256 = ""

    def __call__(self, raw: bytes) -> bytes:
        found = hashlib.new(self.algorithm, raw, usedforsecurity=False).hexdigest()
        if self.digest is not None and found != self.digest:
            raise ValueError(f"the checksum is {found}, but the archive says {self.digest}")
        self.sha256 = hashlib.sha256(raw).hexdigest()
        content = {"zip": _unzip, "gzip": _gunzip, "lz4": _unpack_lz4, "xlsx": _read_sheet}[self.packing](raw)
        if len(content) > MOST_BYTES:
            raise ValueError(f"unpacked it is longer than {MOST_BYTES >> 20} MB")
        return content


def _unzip(raw: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            members = packed.infolist()
            if len(members) != 1:
                raise ValueError(f"the file has {len(members)} members, not one")
            # The header may lie about the size: no more than this is read.
            with packed.open(members[0]) as member:
                return member.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        raise ValueError(f"not a readable ZIP file: {error}") from error


def _gunzip(raw: bytes) -> bytes:
    return _join(raw, lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), zlib.error, "gzip")


def _unpack_lz4(raw: bytes) -> bytes:
    return _join(raw, lz4.frame.LZ4FrameDecompressor, RuntimeError, "LZ4")


def _join(raw: bytes, unpacking: Callable[[], Any], failure: type[Exception], what: str) -> bytes:
    """The content of all the members or frames that a file consists of, one after the other."""
    content = b""
    while True:
        part = unpacking()
        try:
            found: bytes = part.decompress(raw, MOST_BYTES + 1 - len(content))
        except failure as error:
            raise ValueError(f"not a readable {what} file: {error}") from error
        content += found
        if len(content) > MOST_BYTES:
            return content
        if not part.eof:
            raise ValueError(f"the {what} file is cut off")
        raw = part.unused_data
        if not raw:
            return content


def _read_sheet(raw: bytes) -> bytes:
    workbook = _unzip(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(workbook)) as parts:
            left = MOST_BYTES
            for part in parts.infolist():
                # As above: the library trusts the header, so that each part is unpacked here first.
                with parts.open(part) as member:
                    while left >= 0 and (chunk := member.read(2**20)):
                        left -= len(chunk)
        if left < 0:
            raise ValueError(f"unpacked the sheet is longer than {MOST_BYTES >> 20} MB")
        rows = CalamineWorkbook.from_filelike(io.BytesIO(workbook)).get_sheet_by_index(0).to_python()
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, CalamineError) as error:
        raise ValueError(f"not a readable sheet: {error}") from error
    return "".join(f"{','.join(map(_cell, row))}\n" for row in rows).encode()


def _cell(value: object) -> str:
    """A cell as CSV has it: numbers as they are written, without the point of a whole one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Folder:
    """Files of archives that are on this machine, found by their names anywhere below a folder."""

    def __init__(self, root: Path) -> None:
        self.paths = {path.name: path for path in sorted(root.rglob("*")) if path.is_file()}

    def files(self, archive: Archive, name: str, first: date, last: date) -> list[File]:
        """The archive's files of these days, of a market by its name there; the ETag is the size and the time of the
        last change."""
        if isinstance(archive.files, Bucket):
            names = [one for one in self.paths if one.startswith(f"{name}-") and not one.endswith(CHECKSUM)]
        else:
            paths = [path(name, day) for day, _ in archive.periods(first, last) for path in paths_of(archive)]
            names = [one for one in {path.rpartition("/")[2]: None for path in paths} if one in self.paths]
        files = []
        for one in names:
            period, at = archive.period_of(one), self.paths[one].stat()
            if period and period[0] <= last and period[1] > first:
                files.append(File(one, *period, f"{at.st_size}-{at.st_mtime_ns}", at.st_size))
        return without_covered(files)

    def read(self, file: File, archive: Archive) -> tuple[str, str]:
        """The text of a file, verified if its checksum lies beside it, and its SHA-256; ValueError if it is damaged."""
        stated, digest = self.paths.get(f"{file.path}{CHECKSUM}"), None
        if stated and archive.checksum:
            digest = read_checksum(stated.read_text(errors="replace"), archive.checksum)
        unpacking = Unpacking(archive.packing, archive.checksum or "md5", digest)
        try:
            return unpacking(self.paths[file.path].read_bytes()).decode(), unpacking.sha256
        except OSError as error:
            raise ValueError(str(error)) from error


class Files:
    """The fetched files, with what they were when they were fetched, in a SQLite file that survives a kill."""

    def __init__(self, path: Path) -> None:
        self._file = open_state(
            path,
            "files (venue text, kind text, key text, path text, etag text, sha256 text, lines integer,"
            " fetched_ms integer, primary key (venue, path))",
        )

    def etags(self, venue: str, kind: str, key: str) -> dict[str, str]:
        """The fetched files of a market: path → ETag."""
        query = "select path, etag from files where venue = ? and kind = ? and key = ?"
        return dict(self._file.execute(query, (venue, kind, key)).fetchall())

    def add(self, venue: str, kind: str, key: str, file: File, sha256: str, lines: int, at_ms: int) -> None:
        """Store a file as fetched."""
        row = (venue, kind, key, file.path, file.etag, sha256, lines, at_ms)
        self._file.execute("insert or replace into files values (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
