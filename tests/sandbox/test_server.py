"""The sandbox in its own process."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


def test_the_server_runs_as_its_own_process_and_ends_on_sigterm(free_port: int, tmp_path: Path) -> None:
    start = f"run_sandbox('127.0.0.1', {free_port}, 'simulate', 'small', 1, None)"
    code = f"from sandbox.server import run_sandbox; {start}"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert process.poll() is None, (tmp_path / "log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", free_port)) == 0:
                    break
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
        with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/_sandbox/health") as response:
            assert json.load(response)["clock"]["mode"] == "wall"
        process.terminate()
        assert process.wait(timeout=30) == 0, (tmp_path / "log").read_text()
    finally:
        process.kill()
