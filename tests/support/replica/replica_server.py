"""An API server over the small replica."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.replica.replica import publish
from tests.support.servers.api_server import Api, free_port, running

EDITION = 1842


@contextmanager
def replica_server(folder: Path, docs: Path | None = None) -> Iterator[Api]:
    """Publish the small replica below the folder and serve it until the block ends."""
    publish(folder / "serving", EDITION)
    with running(folder / "serving", free_port(), docs) as api:
        yield api
