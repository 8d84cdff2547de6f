"""The command lines and environments of the product's processes."""

import os
import shutil
import sys
from pathlib import Path

from orchestration.config.settings import REPOSITORY, Settings
from orchestration.supervise.supervisor import Command

PROGRAMS = Path(sys.executable).parent
WORKSPACE, SOCKET = "workspace.yaml", "code.sock"


def environ(settings: Settings) -> dict[str, str]:
    """The environment of every process: the settings, and the PATH with the installed programs (dbt)."""
    return settings.environ() | {
        "DAGSTER_HOME": str(settings.dagster_home),
        "PATH": os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",
    }


def tidemark(settings: Settings, name: str, *words: str) -> Command:
    """One of our own commands as a process called `name`."""
    return Command(name, (sys.executable, "-m", "orchestration.cli", *words), environ(settings), REPOSITORY)


def prepare_dagster(settings: Settings) -> Command:
    """Write DAGSTER_HOME's files and create or migrate its database, which the Dagster processes would otherwise all do
    at once."""
    home = settings.dagster_home
    shutil.copyfile(REPOSITORY / "orchestration/code_location/dagster.yaml", home / "dagster.yaml")
    workspace = f"load_from:\n  - grpc_server: {{socket: {SOCKET}, location_name: tidemark}}\n"
    (home / WORKSPACE).write_text(workspace)
    code_socket(settings).unlink(missing_ok=True)
    return Command("dagster-migrate", (str(PROGRAMS / "dagster"), "instance", "migrate"), environ(settings), home)


def code_socket(settings: Settings) -> Path:
    """The code server's socket, which exists once the definitions are loaded."""
    return settings.dagster_home / SOCKET


def dagster(settings: Settings) -> list[Command]:
    """Dagster as code server, daemon and UI: one process fewer than `dagster dev`, and half its CPU to start.

    They communicate over a Unix socket inside DAGSTER_HOME. It is their working folder because the path of a socket
    must be short. The code server starts first: a daemon that does not find it retries only after a minute.
    """
    code = (
        "-m",
        "orchestration.code_location.server",
        "api",
        "grpc",
        "-m",
        "orchestration.code_location.definitions",
        "--socket",
        SOCKET,
        "--location-name",
        "tidemark",
    )
    at = ("-h", settings.dagster_host, "-p", str(settings.dagster_port))
    ui = ("-m", "orchestration.code_location.ui", "-w", WORKSPACE, *at)
    python = Path(sys.executable).name
    form = ("--log-format", "json" if settings.log_format == "json" else "colored")
    return [
        Command(name, (str(PROGRAMS / program), *words, *form), environ(settings), settings.dagster_home)
        for name, program, words in (
            ("dagster-code", python, code),
            ("dagster-daemon", "dagster-daemon", ("run", "-w", WORKSPACE)),
            ("dagster-ui", python, ui),
        )
    ]
