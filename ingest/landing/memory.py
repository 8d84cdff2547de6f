"""Memory of a process that records for months: keeps pandas out, and returns freed memory to the system."""

import ctypes
import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa

M_MMAP_THRESHOLD = -3
LARGE_BYTES = 128 * 2**10


def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc; with another one its own rules apply."""
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (OSError, AttributeError, TypeError):
        return None


_libc = _glibc()


def stay_small() -> None:
    """Call first in a process of its own: keeps pandas out, and allocates large blocks separately."""
    _without_pandas()
    if _libc is not None:
        # Blocks of this size and above get pages of their own, which are returned when they are freed. By default glibc
        # raises the size with each freed block, up to 32 MB, and then a small block keeps the pages of a whole body.
        _libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return free memory to the system, which Arrow's pool and the C library would keep."""
    pa.default_memory_pool().release_unused()
    if _libc is not None:
        _libc.malloc_trim(0)


class _NoPandas(MetaPathFinder):
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


def _without_pandas() -> None:
    """Make pyarrow work without pandas, which it imports for the first array of Python values and only then.

    pyarrow has no option for it, and an entry of None in `sys.modules` does not stop an import from compiled code: so a
    finder hides pandas while pyarrow makes its first array. It saves 46 of 105 MB.
    tests/ingest/landing/test_memory.py fails when pyarrow looks for pandas again later.
    """
    if "pandas" not in sys.modules:
        finder = _NoPandas()
        sys.meta_path.insert(0, finder)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(finder)
