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


def pack(name: str, lines: Iterable[str], packing: Literal["zip", "gzip", "lz4", "xlsx"] = "zip") -> bytes:
    """CSV as an archive packs it: the same file has the same checksum whenever it is made."""
    text = "\n".join([*lines, ""])
    if packing == "gzip":
        return gzip.compress(text.encode(), 6, mtime=0)
    if packing == "lz4":
        return bytes(lz4.frame.compress(text.encode()))
    return _zipped({name: sheet(text) if packing == "xlsx" else text.encode()})


def _zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, content)
    return packed.getvalue()


def sheet(text: str) -> bytes:
    """CSV as a workbook with one sheet (XLSX, ECMA-376): numbers are numbers, other cells are texts."""
    office, package = "http://schemas.openxmlformats.org", "http://schemas.openxmlformats.org/package/2006"
    document, main = f"{office}/officeDocument/2006/relationships", f'xmlns="{office}/spreadsheetml/2006/main"'
    ours = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(value: str) -> str:
        if value[:1].isdigit():
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    def related(kind: str, target: str) -> str:
        one = f'<Relationship Id="r1" Type="{document}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{package}/relationships">{one}</Relationships>'

    rows = "".join(f"<row>{''.join(map(cell, line.split(',')))}</row>" for line in text.splitlines())
    types = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    for part, kind in (("workbook", "sheet.main"), ("sheet1", "worksheet")):
        types += f'<Override PartName="/xl/{part}.xml" ContentType="{ours}.{kind}+xml"/>'
    sheets = '<sheets><sheet name="1" sheetId="1" r:id="r1"/></sheets>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">{types}</Types>',
        "_rels/.rels": related("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{document}">{sheets}</workbook>',
        "xl/_rels/workbook.xml.rels": related("worksheet", "sheet1.xml"),
        "xl/sheet1.xml": f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>",
    }
    return _zipped({name: part.encode() for name, part in parts.items()})


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
