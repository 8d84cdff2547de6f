"""A bucket's list on the wire, a page at a time, and packed CSV that is the same whenever it is made."""

import gzip
import io
import zipfile
from collections.abc import Callable

import lz4.frame
import pytest

from ingest.backfill.files import Unpacking
from sandbox.wire.endpoint import Request
from sandbox.wire.files import PAGE, checksum, list_objects, pack


def listed(marker: str = "") -> str:
    names = ((f"a/{number:05}", "e", number) for number in range(PAGE + 5))
    query = {"prefix": "a/", "marker": marker}
    return list_objects(Request(query, None, 0), "b", names).body.decode()


def test_a_list_goes_on_after_its_marker() -> None:
    first = listed()
    assert (first.count("<Key>"), "<IsTruncated>true" in first) == (PAGE, True)
    assert f"<NextMarker>a/{PAGE - 1:05}</NextMarker>" in first
    rest = listed(f"a/{PAGE - 1:05}")
    assert (rest.count("<Key>"), "<IsTruncated>false" in rest, "NextMarker" in rest) == (5, True, False)


@pytest.mark.parametrize("packing", ["zip", "gzip", "lz4", "xlsx"])
def test_packed_lines_are_the_same_whenever_they_are_packed(packing: str) -> None:
    packed = pack("x.csv", iter(["a", "b"]), packing)  # type: ignore[arg-type]
    assert packed == pack("x.csv", ["a", "b"], packing)  # type: ignore[arg-type]
    unpack: dict[str, Callable[[], bytes]] = {
        "zip": lambda: zipfile.ZipFile(io.BytesIO(packed)).read("x.csv"),
        "gzip": lambda: gzip.decompress(packed),
        "xlsx": lambda: Unpacking("xlsx", "md5", None)(packed),
    }
    assert unpack.get(packing, lambda: bytes(lz4.frame.decompress(packed)))() == b"a\nb\n"


def test_a_checksum_names_its_file() -> None:
    assert checksum(b"", "x", "md5").body == b"d41d8cd98f00b204e9800998ecf8427e  x\n"
    assert len(checksum(b"", "x", "sha256").body.split()[0]) == 64
