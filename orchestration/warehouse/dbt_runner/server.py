"""The dbt server: one process holds dbt's imports and the parsed project, and each dbt run is a fork of it.

Measured: of the CPU of a minute's dbt, half (3 s) went into starting. A fork starts in milliseconds, and ends after the
run like any dbt, so that nothing keeps the warehouse locked. Callers run `client.py` in place of dbt; without this
server it runs dbt itself.

A request is one line of JSON (arguments, environment, folder) with the caller's standard streams and the writer lock as
descriptors. The response is the exit code. The run ends if its caller closes the connection. A run that has a window
to close (`CLOSING` in its environment) does so when its models are built, before its changes are in the file.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import duckdb
from prometheus_client import CollectorRegistry, Counter, disable_created_metrics, write_to_textfile

from orchestration.config.settings import Settings
from orchestration.warehouse.access import holding
from orchestration.warehouse.dbt_runner.client import SOCKET
from orchestration.warehouse.dbt_runner.lean import compile_jinja, link_graph, make_dbt_lean
from orchestration.warehouse.dbt_runner.process import CLOSING, PARSED, PROJECT, dbt_environment, prepare_manifest

MOST_DESCRIPTORS = 4
REQUEST_BYTES = 1 << 20
INTERRUPTED = 130
disable_created_metrics()  # type: ignore[no-untyped-call]
SAID = ("info", "warn", "error")


class OfRun(Protocol):
    """The window that a run builds."""

    def model_built(self, name: str, con: duckdb.DuckDBPyConnection) -> None:
        """Called when dbt has built this model, on one of its threads, with its connection."""

    def close(self) -> Callable[[], None]:
        """Close it when all models are built; what this returns is called when that is in the warehouse's file."""
        ...

    def stop(self) -> None:
        """Called when dbt has ended, in any case, before the warehouse is closed."""


Open = Callable[[str], OfRun]
"""Makes the window that the text describes."""


def run_server(settings: Settings, window: Open) -> None:
    """Serve until SIGTERM or SIGINT."""
    folder = settings.dbt_target.parent
    prepare_manifest(settings)
    os.environ.update(dbt_environment(settings, settings.dbt_target))
    os.chdir(folder)  # a Unix socket's path is limited to about 100 characters
    # dbt creates semaphores that live as long as this process: the warning that they are freed at its end is noise.
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning:multiprocessing.resource_tracker"
    Path(SOCKET + ".new").unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(SOCKET + ".new")
        Path(SOCKET + ".new").chmod(0o600)
        listener.listen()
        Path(SOCKET + ".new").rename(SOCKET)  # clients connect as soon as they see it
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        _accept(listener, settings.dbt_target / PARSED[0], Runs(settings.metrics), window)


def _accept(listener: socket.socket, manifest: Path, runs: "Runs", window: Open) -> None:
    # Python runs signal handlers in the main thread only. A signal that another thread received (libraries start
    # threads) does not interrupt the main thread's wait, so it also waits for a pipe that every signal writes to.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    make_dbt_lean()
    _import_ahead()
    project = _Project(manifest)
    project.refresh()
    print("dbt is ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, woken], [], [])
        if woken in ready:
            os.read(woken, REQUEST_BYTES)
            runs.reap()
        if listener not in ready:
            continue
        connection, _ = listener.accept()
        with connection:
            project.refresh()
            if os.fork() == 0:
                listener.close()
                _run(connection, project.parsed, window)


def _import_ahead() -> None:
    """Import what each run imports: 40 ms of a minute."""
    import multiprocessing.dummy  # noqa: F401 - of dbt's pool of threads

    import dbt.task.build  # noqa: F401

    from orchestration.warehouse.dbt_runner import warehouse_access  # noqa: F401


class Runs:
    """Counts the dbt runs and their CPU for Prometheus, in a file in its text format."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "dbt.prom"
        self.registry = CollectorRegistry()
        self._runs = Counter("tidemark_dbt_runs", "Runs of dbt that have ended.", registry=self.registry)
        self._cpu = Counter("tidemark_dbt_cpu_seconds", "CPU seconds of dbt's runs.", registry=self.registry)

    def reap(self) -> None:
        """Collect finished child processes, whose exit codes are not needed here."""
        with suppress(ChildProcessError):
            while (ended := os.wait4(-1, os.WNOHANG))[0]:
                self._runs.inc()
                self._cpu.inc(ended[2].ru_utime + ended[2].ru_stime)
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_to_textfile(str(self.file), self.registry)


class _Project:
    """The parsed project, read again whenever it has been parsed again."""

    def __init__(self, manifest: Path) -> None:
        self.manifest = manifest
        self.parsed: Any = None
        self._read_ns = 0

    def refresh(self) -> None:
        from dbt.cli.main import dbtRunner

        with suppress(FileNotFoundError):
            changed_ns = self.manifest.stat().st_mtime_ns
            if changed_ns == self._read_ns:
                return
            os.chdir(PROJECT)
            outcome = dbtRunner().invoke(["parse", "--no-write-json", "--quiet"])
            os.chdir(self.manifest.parent.parent)
            self.parsed = outcome.result if outcome.success else None
            self._read_ns = changed_ns
            self._compile_macros()
            if self.parsed:
                link_graph(self.parsed)
            gc.collect()
            gc.freeze()  # a garbage collection in a fork would copy the memory pages that it shares with this process

    def _compile_macros(self) -> None:
        """Compile all macros once, into dbt's private cache. Otherwise every run would compile those that it uses: a
        seventh of a second."""
        from dbt_common.clients.jinja import template_cache

        for macro in self.parsed.macros.values() if self.parsed else ():
            template_cache.get_node_template(macro)
        compile_jinja(
            node.raw_code for node in self.parsed.nodes.values() if node.resource_type in ("model", "operation")
        )


def _run(connection: socket.socket, parsed: Any, window: Open) -> None:
    """One dbt run in the forked child; never returns."""
    code = 1
    # Collections are a tenth of a run's CPU and free little: reference counts free the rest, and the process ends soon.
    gc.disable()
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # If the reader of the output was killed, dbt's threads would block for ever and hold the lock.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        received, descriptors, _, _ = socket.recv_fds(connection, REQUEST_BYTES, MOST_DESCRIPTORS)
        while not received.endswith(b"\n"):
            more = connection.recv(REQUEST_BYTES)
            if not more:
                os._exit(INTERRUPTED)
            received += more
        request = json.loads(received)
        for stream, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        # After the three standard streams comes the writer lock: held as long as this process lives.
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        threading.Thread(target=_end_with_caller, args=(connection,), daemon=True).start()
        code = _invoke(request["arguments"], parsed, window)
    except BaseException as error:
        print(f"dbt failed: {error!r}", file=sys.stderr)
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        with suppress(OSError):
            connection.sendall(b"%d\n" % code)
        os._exit(code)


def _invoke(arguments: list[str], parsed: Any, window: Open) -> int:
    from dbt.cli.main import dbtRunner

    from orchestration.warehouse.dbt_runner import warehouse_access

    # dbt's own logger formats every event and then drops most of them: half a millisecond each.
    os.environ["DBT_LOG_LEVEL"] = "none"
    closing = os.environ.pop(CLOSING, "")
    of_window: OfRun | None = None
    callbacks: list[Callable[[Any], None]] = [_print_event]
    if closing:
        warehouse_access.leave_out_log()
        of_window = window(closing)
        callbacks.append(partial(_note_model, of_window))
    outcome = dbtRunner(manifest=parsed, callbacks=callbacks).invoke(arguments)
    con, closed = warehouse_access.connection(), None
    if of_window:
        try:
            if outcome.success and con is not None:
                with holding(con):
                    closed = of_window.close()
        finally:
            of_window.stop()
    # The fork exits without Python's clean-up: unwritten log lines stay in the log beside the warehouse.
    warehouse_access.close()
    if closed:
        closed()
    if outcome.exception is not None:
        print(outcome.exception, file=sys.stderr)
        return 2
    return 0 if outcome.success else 1


def _print_event(event: Any) -> None:
    """Print an event as dbt's JSON log does, if it is one that callers read."""
    from dbt_common.events.functions import msg_to_dict

    if event.info.level in SAID:
        # One write call: dbt's threads print at the same time, and `print` writes the newline separately.
        sys.stdout.write(json.dumps(msg_to_dict(event)) + "\n")
        sys.stdout.flush()


def _note_model(window: OfRun, event: Any) -> None:
    from orchestration.warehouse.dbt_runner import warehouse_access

    if event.info.name == "LogModelResult" and event.info.level == "info":
        con = warehouse_access.connection()
        if con is not None:
            window.model_built(event.data.node_info.node_name, con)


def _end_with_caller(connection: socket.socket) -> None:
    if not connection.recv(1):
        os._exit(INTERRUPTED)
