"""Fixtures that every test file shares: free ports, the API over the small replica, the folder of real recordings."""

import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support import suite_time
from tests.support.pipeline.shared import shared_folder
from tests.support.replica.replica_server import replica_server
from tests.support.servers.api_server import Api
from tests.support.servers.chromium import chromium
from tests.support.start import VARIABLE, start_ms, to_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.servers.postgres_server import Postgres
    from tests.support.servers.s3_server import S3Server

# The files that take longest, the longest first: begun last, one of them would keep one worker busy after the others.
LONGEST = (
    "test_lake", "test_staged", "test_pages", "test_openapi", "test_rebuilt", "test_by_hand", "test_backfill",
    "test_models", "test_compaction", "test_upgrade", "test_file_minutes", "test_main", "test_warehouse_access",
    "test_transform", "test_doctor", "test_files", "test_marts", "test_minute", "test_market_state_faults",
    "test_quarantine", "test_adding", "test_recorder", "test_backfilled", "test_rollups", "test_positioning",
    "test_real_statistics", "test_any_start", "test_store", "test_derived_pipeline", "test_staging", "test_publish",
    "test_outbox", "test_hostile", "test_outage", "test_main_job", "test_docs", "test_client", "test_venues",
    "test_gaps", "test_liquidation_map", "test_spikes", "test_market_state", "test_indices", "test_follow",
    "test_backup", "test_two_recorders",
)  # fmt: skip


# A busy machine is slow at times: no test fails for that.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, the others in their order."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for the number of start instants that the `any start` tests use, and for naming them."""
    parser.addoption("--starts", type=int, default=3, help="instants in tests/product/test_any_start.py")
    parser.addoption("--starts-seed", type=int, default=1, help="draws those that are not special")


def pytest_report_header(config: pytest.Config) -> str:
    """The settings with which this run can be repeated."""
    seed = config.getoption("--starts-seed")
    return f"simulated markets: {VARIABLE}={to_text(start_ms())} --starts-seed={seed}"


def pytest_configure(config: pytest.Config) -> None:
    """Workers are started with the environment of the process that starts them: all share its folder."""
    shared_folder()
    # DuckDB's number of threads by default. Rows are few: a second thread costs a tenth more CPU, and each core has a
    # worker. (The processes of `demo` and `up` have the product's own settings.)
    os.environ.setdefault("SLURM_CPUS_ON_NODE", "1")
    # Collections take a twelfth of the CPU by default, because a worker holds a million objects until it ends.
    gc.set_threshold(100_000, 50, 100)
    config.pluginmanager.register(suite_time)


@pytest.fixture
def free_port() -> int:
    """A loopback TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator["Postgres"]:
    """A PostgreSQL server, shared by tests that each make a database of their own."""
    # Imported here: few tests need it.
    from tests.support.servers.postgres_server import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server of the small replica, shared by tests that only read. Tests that change the replica start their own."""
    with replica_server(tmp_path_factory.mktemp("api")) as served:
        yield served


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator["S3Server"]:
    """An object store for the tests of a worker, each of which has a folder of its own in the bucket."""
    from tests.support.servers.s3_server import s3_server

    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium as the system has it, shared by the tests of a file; skips without it.

    Not by those of all files: while Playwright is open its event loop runs, and no test with one of its own can."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    if path is None:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of real responses recorded from the venues (TIDEMARK_RECORDINGS); skips without it."""
    return _folder("TIDEMARK_RECORDINGS", "real venue recordings")


@pytest.fixture(scope="session")
def archives() -> Path:
    """The folder of real samples of the venues' archives (TIDEMARK_ARCHIVES); skips without it."""
    return _folder("TIDEMARK_ARCHIVES", "real samples of archives")


def _folder(variable: str, what: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set: no folder of {what} to test against")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"{variable}={folder!r} is not a folder")
    return path
