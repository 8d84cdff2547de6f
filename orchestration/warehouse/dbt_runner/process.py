"""dbt as a child process: its environment, its manifest, and its error messages.

A child, because dbt inside a process keeps the warehouse locked until that process ends. The child inherits the writer
lock, so that a dbt whose parent was killed still counts as the writer. While the product runs, the child is a fork of a
dbt process that is already started (see `server`).
"""

import hashlib
import json
import os
import pprint
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestration.config import locks
from orchestration.config.places import is_file
from orchestration.config.settings import REPOSITORY, WAREHOUSE, Settings
from orchestration.warehouse.dbt_runner import client as dbt_client
from orchestration.warehouse.writer import PipelineError, Report

PROJECT = REPOSITORY / "dbt_project"
# The parsed project, which dbt runs, Dagster, publish and the API read, and the list of files that it was parsed from.
PARSED = ("manifest.json", "partial_parse.msgpack", "read_from")
# What the installation has made of the project (see orchestration/warehouse/installed.py).
INSTALLED = PROJECT / "target" / "installed"
# The environment variable that has a run close its window (`orchestration/warehouse/closing.py`).
CLOSING = "TIDEMARK_CLOSING"


class DbtError(PipelineError):
    """dbt failed; the message holds dbt's error for each failed model."""


def dbt_executable() -> str:
    """The dbt of this Python environment."""
    beside = Path(sys.executable).parent / "dbt"
    found = str(beside) if beside.exists() else shutil.which("dbt")
    if not found:
        raise PipelineError(f"dbt is not installed beside {sys.executable}: install the project's requirements first")
    return found


def dbt_version() -> str:
    """The version of the installed dbt."""
    return version("dbt-core")


def dbt_environment(settings: Settings, target: Path) -> dict[str, str]:
    """The environment of a dbt child: the same for every caller, so that the parsed project stays valid."""
    return {
        **os.environ,
        "TIDEMARK_LANDING": settings.landing,
        "TIDEMARK_WAREHOUSE": settings.warehouse,
        "TIDEMARK_BUILD_THREADS": str(settings.build_threads),
        "TIDEMARK_BUILD_MEMORY": settings.build_memory,
        "DBT_PROJECT_DIR": str(PROJECT),
        "DBT_PROFILES_DIR": str(PROJECT),
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(settings.dbt_logs),
        "DBT_LOG_FORMAT": "json",
        "DBT_LOG_LEVEL_FILE": "none",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_PARTIAL_PARSE": "true",
        "DBT_USE_COLORS": "false",
        "DBT_VERSION_CHECK": "false",
    }


def start_dbt(
    settings: Settings,
    arguments: Sequence[str],
    *,
    lock: int | None = None,
    target: Path | None = None,
    closing: str = "",
) -> subprocess.Popen[bytes]:
    """Start dbt on the project. Without `target` it uses the parsed project and does not rewrite the manifest.
    `closing` as in `OpenWindow`."""
    command = [dbt_executable(), *arguments]
    if arguments[0] == "build":
        command += ["--threads", str(settings.models_at_once)]
    if target is None:
        # -S: reading site-packages would take longer than the rest of the client's start.
        client = [sys.executable, "-E", "-S", dbt_client.__file__, str(settings.dbt_target.parent)]
        command = [*client, "" if lock is None else str(lock), *command, "--no-write-json"]
    environment = dbt_environment(settings, target or settings.dbt_target)
    if closing:
        environment |= {**settings.environ(), CLOSING: closing}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=PROJECT,
        env=environment,
        pass_fds=() if lock is None else (lock,),
    )


def run_dbt(
    settings: Settings,
    arguments: Sequence[str],
    *,
    lock: int | None = None,
    target: Path | None = None,
    closing: str = "",
) -> list[str]:
    """Run dbt until it ends, and return what it printed as its result; raises DbtError with dbt's error for each failed
    model."""
    process = start_dbt(settings, arguments, lock=lock, target=target, closing=closing)
    assert process.stdout is not None
    errors: list[str] = []
    tail: list[str] = []
    printed: list[str] = []
    try:
        for event, level, message in _messages(process.stdout):
            tail = [*tail[-19:], message]
            if level == "error":
                errors.append(message)
            elif event == "PrintEvent":
                printed.append(message)
        code = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if code != 0:
        said = "\n".join(errors or tail)
        raise DbtError(f"dbt {' '.join(arguments)} failed with exit code {code}:\n{said}")
    return printed


def list_models(settings: Settings, selection: Sequence[str], *, state: Path) -> list[str]:
    """The names of the models that dbt selects, compared with the manifest in the folder `state`."""
    arguments = ["ls", "--resource-type", "model", "--output", "name", "--state", str(state), "--select", *selection]
    return run_dbt(settings, arguments)


def _messages(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    """Event, level and text of each line of dbt's log."""
    for line in lines:
        text = line.decode(errors="replace").strip()
        try:
            info = json.loads(text)["info"]
            yield info["name"], info["level"], info["msg"]
        except (ValueError, KeyError, TypeError):
            yield "", "info", text


def prepare_manifest(settings: Settings, report: Report = print) -> Path:
    """Parse the dbt project unless its manifest exists and was made from exactly these files."""
    manifest = settings.dbt_target / PARSED[0]
    if is_current(manifest):
        return manifest
    settings.dbt_target.mkdir(parents=True, exist_ok=True)
    # Two processes may start at once: one parses while the other waits and then finds the manifest up to date.
    with locks.held(settings.dbt_target.parent / "parse.lock"):
        if is_current(manifest):
            return manifest
        with TemporaryDirectory(dir=settings.dbt_target.parent) as folder:
            if installed_for(settings):
                copy_parsed(INSTALLED, Path(folder), str(INSTALLED / WAREHOUSE), settings.warehouse)
            else:
                report("reading the dbt project")
                (Path(folder) / PARSED[-1]).write_text(files_now())
                run_dbt(settings, ["parse"], target=Path(folder))
            for name in reversed(PARSED):
                (Path(folder) / name).replace(settings.dbt_target / name)
    return manifest


def is_current(manifest: Path) -> bool:
    """Whether a manifest was made from the current files of the project."""
    try:
        return manifest.exists() and manifest.with_name(PARSED[-1]).read_text() == files_now()
    except FileNotFoundError:
        return False


def installed_for(settings: Settings) -> bool:
    """Whether the installation has made something of exactly these files that fits this home's warehouse. The parsed
    project names the warehouse's tables, and so the database, which has the name of its file."""
    named = is_file(settings.warehouse) and Path(settings.warehouse).name == WAREHOUSE
    return named and is_current(INSTALLED / PARSED[0])


def copy_parsed(source: Path, target: Path, of: str, warehouse: str) -> None:
    """Copy the parsed project `of` one warehouse for another one, by their paths. dbt stores a hash of where the
    warehouse is, and parses the project again if that differs."""
    old, new = (place_hash(place).encode() for place in (of, warehouse))
    for name in PARSED:
        (target / name).write_bytes((source / name).read_bytes().replace(old, new))


def place_hash(warehouse: str) -> str:
    """dbt's hash of where a warehouse is, as ManifestLoader.build_manifest_state_check makes it of a profile."""
    import yaml
    from dbt.adapters.duckdb.credentials import DuckDBCredentials
    from dbt.artifacts.resources.base import FileHash

    profile = yaml.safe_load((PROJECT / "profiles.yml").read_text())["tidemark"]["outputs"]["warehouse"]
    del profile["type"]
    place = DuckDBCredentials.from_dict(DuckDBCredentials.__pre_deserialize__({**profile, "path": warehouse}))
    return FileHash.from_contents(pprint.pformat(sorted(place.connection_info()))).checksum


def files_now() -> str:
    """The size and modification time of each file of the project. Comparing with the manifest's time would not do: the
    files of a new release may be older than the manifest."""
    return "".join(f"{name} {state.st_size} {state.st_mtime_ns}\n" for name, state in project_files())


def idle_models(settings: Settings, present: Collection[str]) -> list[str]:
    """The models that this window does not run: none of their `triggers` (endpoints of the window, steps of the clock)
    is present.

    Most endpoints are not requested every minute, and most statistics are not computed every minute. The triggers are
    cached beside the manifest, which takes long to read.
    """
    manifest, kept = settings.dbt_target / PARSED[0], settings.dbt_target / "triggers.json"
    if not manifest.exists():
        return []
    if not kept.exists() or kept.stat().st_mtime < manifest.stat().st_mtime:
        nodes = json.loads(manifest.read_bytes())["nodes"].values()
        wanted = {
            node["name"]: node["config"]["triggers"] for node in nodes if node["config"].get("triggers") is not None
        }
        written = kept.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(wanted))
        written.replace(kept)
    triggers: dict[str, list[str]] = json.loads(kept.read_bytes())
    return sorted(name for name, wanted in triggers.items() if not set(wanted) & set(present))


def project_files() -> list[tuple[str, os.stat_result]]:
    """The files that determine what dbt does, each with its state, in a stable order. Python's bytecode, written beside
    a model in Python when that is imported, determines nothing."""
    found = [(file.name, file.stat()) for file in PROJECT.glob("*.yml")]
    for folder in ("models", "macros", "seeds", "tests"):
        found += _files_in(folder)
    return sorted(found, key=lambda file: file[0].split("/"))


def _files_in(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """A third of the time that paths take: readers wait for several such lists each minute."""
    with os.scandir(f"{PROJECT}/{folder}") as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files_in(f"{folder}/{entry.name}")
            elif not entry.name.endswith(".pyc"):
                yield f"{folder}/{entry.name}", entry.stat()


def fingerprint(*folders: str) -> str:
    """A hash of the project's files, or of those in some of its folders."""
    return _fingerprint(f"{PROJECT} {files_now()}", folders)


@lru_cache(maxsize=4)
def _fingerprint(_files: str, folders: tuple[str, ...]) -> str:
    """Made once of the files as they are, by their sizes and times."""
    digest = hashlib.sha256()
    for name, _ in project_files():
        if not folders or name.split("/")[0] in folders:
            digest.update(f"{name}\0".encode() + (PROJECT / name).read_bytes() + b"\0")
    return digest.hexdigest()
