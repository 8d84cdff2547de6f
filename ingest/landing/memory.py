"""What a process that records for months does so that it stays small: memory that a minute needed goes back."""

import ctypes
import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa

M_MMAP_THRESHOLD = -3
LARGE_BYTES = 128 * 2**10


def _glibc() -> ctypes.CDLL | None:
    """Where the C library is another one, it does as it does."""
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (OSError, AttributeError, TypeError):
        return None


_libc = _glibc()


def stay_small() -> None:
    """For a process of its own, before anything else: keep out what it never uses, and keep large blocks apart."""
    _without_pandas()
    if _libc is not None:
        # Blocks of this size and above get pages of their own, which are free when they are. Else glibc raises the
        # size with every block that is freed, up to 32 MB, and one small block keeps the pages of a body for ever.
        _libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return free memory to the system: Arrow's pool and the C library keep it otherwise."""
    pa.default_memory_pool().release_unused()
    if _libc is not None:
        _libc.malloc_trim(0)


class _NoPandas(MetaPathFinder):
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


def _without_pandas() -> None:
    """Have pyarrow do without pandas, which it imports (45 MB) at the first array that it makes of Python values."""
    if "pandas" not in sys.modules:
        finder = _NoPandas()
        sys.meta_path.insert(0, finder)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(finder)
