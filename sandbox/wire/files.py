"""Files of an exchange's archive on the wire: the list of a bucket, packed CSV, checksums."""

import gzip
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from xml.sax.saxutils import escape

import lz4.frame

from sandbox.wire.endpoint import Request, Response

PAGE = 1000
"""Names on a page of a list at most."""
NOT_FOUND = Response(b"<Error><Code>NoSuchKey</Code></Error>", 404, content_type="application/xml")


def day_of(at_ms: int) -> date:
    """The UTC day of a time."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


def start_of(day: date) -> int:
    """The start of a UTC day, ms."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def next_month(day: date) -> date:
    """The first day of the following month."""
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def list_objects(request: Request, bucket: str, names: Iterable[tuple[str, str, int]]) -> Response:
    """GET of a bucket with prefix, delimiter and marker: of (name, ETag, bytes), in the order of the names, a page."""
    prefix, marker = request.query.get("prefix", ""), request.query.get("marker", "")
    page = list[tuple[str, str, int]]()
    for one in names:
        if one[0] > marker:
            page.append(one)
        if len(page) > PAGE:
            break
    page, more = page[:PAGE], len(page) > PAGE
    rows = "".join(
        f"<Contents><Key>{escape(name)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        for name, etag, size in page
    )
    following = f"<NextMarker>{escape(page[-1][0])}</NextMarker>" if more else ""
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><Marker>{escape(marker)}</Marker>{following}"
        f"<MaxKeys>{PAGE}</MaxKeys><Delimiter>/</Delimiter><IsTruncated>{str(more).lower()}</IsTruncated>"
        f"{rows}</ListBucketResult>"
    )
    return Response(text.encode(), content_type="application/xml")


def pack(name: str, lines: Iterable[str], packing: Literal["zip", "gzip", "lz4"] = "zip") -> bytes:
    """CSV as an archive packs it: the same file has the same checksum whenever it is made."""
    text = "\n".join([*lines, ""])
    if packing == "gzip":
        return gzip.compress(text.encode(), 6, mtime=0)
    if packing == "lz4":
        return bytes(lz4.frame.compress(text.encode()))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        member = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        member.compress_type = zipfile.ZIP_DEFLATED
        file.writestr(member, text)
    return packed.getvalue()


def checksum(content: bytes, name: str, algorithm: Literal["sha256", "md5"]) -> Response:
    """The text beside a file: its digest and its name."""
    digest = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
    return Response(f"{digest}  {name}\n".encode(), content_type="text/plain")


def send_file_or_checksum(
    name: str,
    prefix: str,
    algorithm: Literal["sha256", "md5"],
    content_of: Callable[[str], bytes | None],
    is_wrong: Callable[[str], bool],
) -> Response:
    """GET of the ZIP file `<prefix><period>.zip`, or of the text beside it. `content_of` a period is None where there
    is no file; the checksum of a period that `is_wrong` is another file's."""
    zipped, _, rest = name.partition(".CHECKSUM")
    period = zipped.removeprefix(prefix).removesuffix(".zip")
    content = None if rest or zipped != f"{prefix}{period}.zip" else content_of(period)
    if content is None:
        return NOT_FOUND
    if name == zipped:
        return Response(content, content_type="application/zip")
    return checksum(b"" if is_wrong(period) else content, zipped, algorithm)
