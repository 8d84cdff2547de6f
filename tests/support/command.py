"""The `tidemark` command in a process of its own, and what it prints."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from orchestration.cli.main import app
from tests.support.servers.api_server import free_port

TIDEMARK = str(Path(sys.executable).with_name("tidemark"))
PORTS = ("TIDEMARK_API_PORT", "TIDEMARK_DAGSTER_PORT", "TIDEMARK_SANDBOX_PORT")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A home of its own on ports of its own."""
    free = set[int]()
    while len(free) < len(PORTS):  # the same port may be free twice
        free.add(free_port())
    ports = dict(zip(PORTS, map(str, free), strict=True))
    bare = {name: value for name, value in os.environ.items() if not name.startswith("TIDEMARK_")}
    return {**bare, **ports, "TIDEMARK_HOME": str(home), **more}


def tidemark(env: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TIDEMARK, *words], env=env, capture_output=True, text=True, timeout=120, check=False)


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line that a failure is."""
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def in_this_process(env: dict[str, str], *words: str) -> Result:
    """A command without the second that its process takes to start."""
    return CliRunner(env=env).invoke(app, words, prog_name="tidemark")


def status(env: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of `tidemark status`."""
    done = in_this_process(env, "status", "--json")
    return done.exit_code, json.loads(done.stdout)
