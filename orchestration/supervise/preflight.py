"""Checks before anything starts: folders writable, ports free, one supervisor per home, one kind of market per home."""

import errno
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from orchestration.config import locks
from orchestration.config.places import is_file, is_lake
from orchestration.config.settings import Settings

# After a supervisor was killed, its warden needs this long to stop the processes; it holds the lock until then.
TAKEOVER_S = 25.0
# This file is in the state folder, so that a later start with other settings cannot mix simulated and real data.
SIMULATED, REAL = "simulated exchanges", "the real exchanges"


class PreflightError(RuntimeError):
    """Something on this machine prevents the start: the message says what, and what to do."""


def check_folders(settings: Settings, *, builds: bool = True) -> None:
    """Create every folder of the state and prove that it is writable; of a home that `builds` also the landing and the
    warehouse."""
    folders = [settings.home, settings.serving, settings.recorder, settings.dbt_target, settings.dbt_logs]
    folders += [settings.docs, settings.dagster_home, settings.logs]
    for folder in folders:
        _prove_writable(folder, "TIDEMARK_HOME")
    if is_lake(settings.warehouse):
        _prove_lake(settings, builds)
    if not builds:
        return
    if "://" in settings.landing:
        _prove_object_store(settings.landing)
    else:
        # dlt creates the landing itself, and refuses an empty folder that it did not create.
        landing = Path(settings.landing)
        _prove_writable(landing if landing.exists() else landing.parent, "TIDEMARK_LANDING")
    if is_file(settings.warehouse):
        _prove_writable(Path(settings.warehouse).parent, "TIDEMARK_WAREHOUSE")


def _prove_object_store(landing: str) -> None:
    from ingest.landing.landing import check_landing
    from ingest.landing.loads import LandingFault

    try:
        check_landing(landing)
    except LandingFault as fault:
        raise PreflightError(
            f"{fault}. TIDEMARK_LANDING names it, and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE its keys."
        ) from None


def _prove_lake(settings: Settings, builds: bool) -> None:
    from ingest.landing.store import StoreFault, prove_writable
    from orchestration.warehouse import lake

    if builds and "://" not in settings.lake_data:
        _prove_writable(Path(settings.lake_data), "TIDEMARK_LAKE_DATA")
    try:
        if builds:
            prove_writable(settings.lake_data)
        lake.prove(settings.warehouse)
    except (StoreFault, lake.LakeError) as fault:
        raise PreflightError(f"{fault}. TIDEMARK_WAREHOUSE and TIDEMARK_LAKE_DATA name the lake.") from None


def _prove_writable(folder: Path, variable: str) -> None:
    probe = folder / f".writable-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PreflightError(
            f"The folder {folder} cannot be written to ({reason}); set {variable} to another."
        ) from None


def check_ports(ports: Mapping[str, tuple[str, int]]) -> None:
    """Prove that every port can be bound: part of the variables' names → address and number."""
    for part, (host, port) in ports.items():
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    message = f"{host} is no address of this machine; set TIDEMARK_{part}_HOST to one."
                    raise PreflightError(message) from None
                why = "is already in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
                message = f"Port {port} on {host} {why}; set TIDEMARK_{part}_PORT to a free one."
                raise PreflightError(message) from None


def check_origin(settings: Settings) -> None:
    """One home holds the recordings of one kind of market: simulated numbers never mix with real ones."""
    origin = SIMULATED if settings.venues_url else REAL
    marker = settings.home / "origin"
    before = marker.read_text().strip() if marker.exists() else ""
    if not before:
        _prove_writable(settings.home, "TIDEMARK_HOME")
        written = marker.with_name(f"{marker.name}.{os.getpid()}")
        written.write_text(origin + "\n")
        written.replace(marker)
    elif before != origin:
        raise PreflightError(
            f"{settings.home} holds recordings of {before}, which must not mix with {origin}; "
            f"set TIDEMARK_HOME to another folder."
        )


def lock_home(home: Path) -> int:
    """Take the lock of a home for this process; the returned descriptor holds it."""
    path = home / "tidemark.lock"
    deadline = time.monotonic() + TAKEOVER_S
    while (lock := locks.take(path, str(os.getpid()))) is None:
        holder = locks.note_of(path)
        if _lives(holder) or time.monotonic() > deadline:
            raise PreflightError(
                f"Tidemark already runs on {home} (process {holder or 'unknown'}); stop it first or set "
                f"TIDEMARK_HOME to another folder."
            )
        time.sleep(0.1)
    return lock


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
