"""Data that cannot be read now: the exception, and what there is without a replica."""

from pathlib import Path
from typing import NamedTuple

from serve.replica.catalog import Catalog


class Unavailable(Exception):
    """The data cannot be read now. `missing`: it does not exist yet; otherwise it exists and is unreadable."""

    def __init__(self, reason: str, missing: bool = False) -> None:
        super().__init__(reason)
        self.missing = missing


class Busy(Unavailable):
    """More is asked than is answered at present; the data itself can be read."""


class Fallback(NamedTuple):
    """What there is without a replica: the folder of replicas, and the definitions of the last edition, if any."""

    serving: Path
    catalog: Catalog = Catalog()
