"""One writer at a time, and the connection to a database that another process may hold."""

import subprocess
import time
from pathlib import Path

import pytest

from orchestration.warehouse.writer import WriterBusyError, writer_lock
from tests.support.pipeline.landed import quiet


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        writer_lock(tmp_path, "build", say=quiet),
        pytest.raises(WriterBusyError, match="build"),
        writer_lock(tmp_path, "publish", wait_s=0, say=quiet),
    ):
        pass
    with writer_lock(tmp_path, "publish", wait_s=0, say=quiet):
        pass


def test_a_child_that_outlives_its_parent_is_still_the_writer(tmp_path: Path) -> None:
    with writer_lock(tmp_path, "build", say=quiet) as lock:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock,))
    with pytest.raises(WriterBusyError), writer_lock(tmp_path, "publish", wait_s=0, say=quiet):
        pass
    child.communicate()
    deadline = time.monotonic() + 10
    while True:
        try:
            with writer_lock(tmp_path, "publish", wait_s=0, say=quiet):
                return
        except WriterBusyError:
            assert time.monotonic() < deadline
