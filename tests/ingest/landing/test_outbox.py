"""From a row to a committed load: a kill at any step or a full disk loses nothing and doubles nothing."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ingest.landing.loads import committed_loads
from tests.support.landing_rows import row
from tests.support.servers.loopback_venue import identity, landed

STORAGES = "dlt.common.storages"
# Where the process is killed: before or after a step of dlt's own code, each in a real process.
CRASHES = {
    "before extract": ("dlt.pipeline.pipeline", "Pipeline", "extract", False),
    "between extract and normalize": ("dlt.pipeline.pipeline", "Pipeline", "extract", True),
    "before the first schema is kept": (
        f"{STORAGES}.live_schema_storage",
        "LiveSchemaStorage",
        "commit_live_schema",
        False,
    ),
    "with one package in two folders": (f"{STORAGES}.load_storage", "LoadStorage", "commit_new_load_package", True),
    "between normalize and load": ("dlt.pipeline.pipeline", "Pipeline", "normalize", True),
    "before the file is put": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemLoadJob", "run", False),
    "after the file is put": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemLoadJob", "run", True),
    "before the commit": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemClient", "_store_load", False),
    "after the commit": ("dlt.destinations.impl.filesystem.filesystem", "FilesystemClient", "_store_load", True),
    "with a complete package not moved": (
        f"{STORAGES}.load_package",
        "PackageStorage",
        "complete_loading_package",
        True,
    ),
    "before the journal is deleted": ("ingest.landing.outbox", "Outbox", "_delete", False),
}


CHILD = """
import asyncio, importlib, os, signal, sys
from pathlib import Path
from ingest.landing.outbox import Outbox
from ingest.landing.rows import Row

home, landing, first, module, owner, name, after = sys.argv[1:8]


async def main():
    outbox = Outbox(Path(home), landing)
    for n in range(int(first), int(first) + 3):
        outbox.put(Row(60_000, "binance", "open_interest", str(n), "{}", 200, n, n + 1, 1, None, "{}"))
    if module:
        cls = getattr(importlib.import_module(module), owner)
        step = getattr(cls, name)

        def dying(*args, **kwargs):
            if after == "True":
                step(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(cls, name, dying)
    landed = await outbox.land()
    sys.exit(landed.fault)


asyncio.run(main())
"""


@pytest.mark.parametrize("crash", CRASHES)
def test_kill_while_landing_loses_and_doubles_nothing(crash: str, tmp_path: Path) -> None:
    """Killed at the step, started again: every row is in committed loads, once by its identity."""
    landing = tmp_path / "landing"

    def start(first: int, *at: object) -> int:
        args = [sys.executable, "-c", CHILD, tmp_path / "recorder", landing, first, *(at or ("", "", "", ""))]
        return subprocess.run([str(arg) for arg in args], timeout=120, check=False, env=os.environ).returncode

    assert start(0, *CRASHES[crash]) == -9
    assert start(3) == 0
    rows = landed(landing)
    assert sorted({identity(found)[3] for found in rows}) == [str(n) for n in range(6)]
    assert len({identity(found) for found in rows}) == 6
    assert not list((tmp_path / "recorder" / "journal").iterdir())


BIG = "".join(map(str, range(40_000)))


async def test_a_journal_without_a_whole_row_is_no_load(tmp_path: Path) -> None:
    """Killed while it wrote the first one: nothing lands, and the file does not stay for ever."""
    from ingest.landing.outbox import Outbox

    outbox = Outbox(tmp_path / "recorder", str(tmp_path / "landing"))
    outbox.put(row(0))
    (path,) = outbox.journal.close_file()
    os.truncate(path, path.stat().st_size - 100)
    result = await outbox.land()
    assert result is not None
    assert (result.rows, result.fault) == (0, None)
    assert not committed_loads(str(tmp_path / "landing"))
    assert not outbox.journal.close_file()


async def test_a_full_landing_is_one_clear_error_and_nothing_is_lost(
    tiny_disk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows stay in the journal, each round tries again, and with room all of them are landed once."""
    from ingest.landing.outbox import Outbox

    landing = tiny_disk / "landing"
    outbox = Outbox(tmp_path / "recorder", str(landing))
    outbox.put(row(0))
    await outbox.land()
    ballast = tiny_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65536))
    for n in (1, 2, 3):
        outbox.put(row(n, f"{n}{BIG}"))
        result = await outbox.land()
        assert result is not None
        assert "No space left on device" in (result.fault or "")
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert str(landing) in errors[0]
    ballast.unlink()
    result = await outbox.land()
    assert result is not None
    assert result.fault is None
    assert sorted(found["key"] for found in landed(landing)) == ["0", "1", "2", "3"]
    assert [found["body"] for found in landed(landing) if found["key"] == "3"] == [f"3{BIG}"]
