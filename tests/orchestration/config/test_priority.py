"""Long work leaves the CPU to the minute's processes, which have sessions of their own."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration.config.priority import SESSION

SAYS = """
import os, signal, sys
from orchestration.config.priority import SESSION, behind_the_minute
began, niceness = os.nice(0), lambda: SESSION.read_text().split()[-1]
# A shell in the background has its children ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print(niceness())
try:
    with behind_the_minute():
        print(niceness(), os.nice(0) - began)
        os.kill(os.getpid(), int(sys.argv[1]))
        signal.pause()
except (KeyboardInterrupt, SystemExit):
    print(niceness())
"""


@pytest.mark.skipif(not SESSION.exists(), reason="this kernel does not share the CPU by sessions")
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_a_session_is_nice_while_it_works_and_gets_its_own_niceness_back(ended_by: signal.Signals) -> None:
    command = [sys.executable, "-c", SAYS, str(int(ended_by))]
    found = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    assert found.stdout.split("\n") == ["0", "10 10", "0", ""], found.stderr


@pytest.mark.skipif(not SESSION.exists(), reason="this kernel does not share the CPU by sessions")
def test_a_session_that_another_command_made_nice_is_left_to_it() -> None:
    code = """
from orchestration.config.priority import SESSION, behind_the_minute
with behind_the_minute():
    with behind_the_minute():
        pass
    print(SESSION.read_text().split()[-1])
print(SESSION.read_text().split()[-1])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, start_new_session=True)
    assert found.stdout == "10\n0\n", found.stderr


@pytest.mark.parametrize("has", [None, ""])
def test_where_sessions_have_no_niceness_the_process_alone_is_nice(has: str | None, tmp_path: Path) -> None:
    session = tmp_path / "autogroup"
    if has is not None:
        session.write_text(has)  # as the kernel has it in a control group
    without = f"import pathlib, orchestration.config.priority as it; it.SESSION = pathlib.Path({str(session)!r})"
    code = f"{without}\nimport os\nbegan = os.nice(0)\nwith it.behind_the_minute(): print(os.nice(0) - began)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "10\n", found.stderr
