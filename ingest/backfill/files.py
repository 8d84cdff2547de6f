"""Files of an archive: reading their list, verifying and unzipping them, and which of them have been fetched."""

import hashlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from ingest.backfill.state_file import open_state
from ingest.declaration.archive import Archive

MOST_BYTES = 64 * 2**20
"""Of an unzipped file; longer than any known one."""
CHECKSUM = ".CHECKSUM"


@dataclass(frozen=True)
class File:
    """A listed file: its path, its day, the list's ETag, which changes when the file is replaced, and its bytes."""

    path: str
    day: date
    etag: str
    size: int


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
        found = archive.day.search(path)
        if found and not path.endswith(CHECKSUM):
            files.append(File(path, date.fromisoformat(found[1]), etag, int(size)))
    more = value(root, "IsTruncated") == "true"
    return files, (value(root, "NextMarker") or listed[-1][0]) if more and listed else None


def read_checksum(text: str) -> str:
    """The SHA-256 in a checksum's text; ValueError if it has none."""
    sha256 = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        raise ValueError(f"not a SHA-256: {text[:80]!r}")
    return sha256


def unzip(sha256: str) -> Callable[[bytes], bytes]:
    """A decoder of ZIP files with this checksum and one member: its content. ValueError for any other."""

    def decode(raw: bytes) -> bytes:
        if (found := hashlib.sha256(raw).hexdigest()) != sha256:
            raise ValueError(f"the checksum is {found}, but the archive says {sha256}")
        try:
            with zipfile.ZipFile(io.BytesIO(raw)) as packed:
                members = packed.infolist()
                if len(members) != 1:
                    raise ValueError(f"the file has {len(members)} members, not one")
                # The header may lie about the size: no more than this is read.
                with packed.open(members[0]) as member:
                    content = member.read(MOST_BYTES + 1)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise ValueError(f"not a readable ZIP file: {error}") from error
        if len(content) > MOST_BYTES:
            raise ValueError(f"unzipped it is longer than {MOST_BYTES >> 20} MB")
        return content

    return decode


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
