"""Locks between processes: one holder at a time, its note, and a holder that hands the lock to a child."""

import os
import subprocess
from pathlib import Path

from orchestration.config import locks


def test_one_holds_a_lock_and_notes_who_it_is(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "home.lock"
    assert locks.note_of(path) == ""
    held = locks.take(path, "the first of two")
    assert held is not None
    assert locks.take(path, "the second") is None
    assert locks.note_of(path) == "the first of two", "who is refused notes nothing"
    os.close(held)
    held = locks.take(path, "a third")
    assert held is not None
    assert locks.note_of(path) == "a third"
    os.close(held)


def test_a_child_with_the_descriptor_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "home.lock"
    held = locks.take(path)
    assert held is not None
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(held,))
    os.close(held)
    assert locks.take(path) is None
    child.kill()
    child.communicate()
    held = locks.take(path)
    assert held is not None
    os.close(held)
