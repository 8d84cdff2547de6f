"""The server that most tests of the room ask: the small replica, with generated documents beside it."""

import json
import shutil
from collections.abc import Iterator

import pytest

from serve.replica.edition import Reader, open_edition
from tests.support.replica.replica_server import replica_server
from tests.support.servers.api_server import Api


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server for tests that only send requests, each from its own address; one that changes what is served has its
    own."""
    root = tmp_path_factory.mktemp("serve")
    (root / "docs").mkdir()
    (root / "docs" / "index.html").write_text("<html>" + "tables " * 1000)
    (root / "docs" / "manifest.json").write_text("{}")
    (root / "secret.txt").write_text("hidden words")
    with replica_server(root, root / "docs") as served:
        yield served


@pytest.fixture(scope="session")
def reader(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A copy of the replica that the server has, read as an endpoint reads it."""
    pointer = json.loads((api.serving / "current.json").read_text())
    copy = tmp_path_factory.mktemp("reader") / pointer["replica"]
    shutil.copyfile(api.serving / pointer["replica"], copy)
    edition = open_edition(copy)
    yield Reader(edition, edition.connection.cursor())
    edition.connection.close()
