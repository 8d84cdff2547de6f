"""A real PostgreSQL server of the test run's own on loopback, with a new database for each test that asks."""

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.servers.api_server import free_port

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
PASSWORD = "not-for-others"


class Postgres:
    """A running server, whose only user has a password."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()

    def start(self) -> None:
        """Make its files and start it."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        # Without upkeep, which takes CPU of the tests: a database lives as long as one of them.
        options += " -c autovacuum=off -c checkpoint_timeout=1d -c max_wal_size=16GB"
        self._run("initdb", "-U", "tidemark", "-A", "scram-sha-256", "-N", "--pwfile", str(password))
        self._run("pg_ctl", "-o", options, "-l", str(self.folder / "log"), "-w", "start")

    def stop(self) -> None:
        """End it at once."""
        self._run("pg_ctl", "-m", "immediate", "stop")

    def _run(self, program: str, *words: str) -> None:
        # The server does not run as root.
        other = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        command = [str(PROGRAMS[-1] / program), "-D", str(self.folder / "data"), *words]
        subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL, **other)  # type: ignore[call-overload]

    def database(self, template: str = "template1") -> str:
        """The name of a new database."""
        name = f"lake_{secrets.token_hex(4)}"
        with self.session() as con:
            con.execute(f"create database {name} template {template}")
        return name

    def connection(self, database: str) -> str:
        """How clients name a database."""
        return f"host=127.0.0.1 port={self.port} dbname={database} user=tidemark password={PASSWORD}"

    def session(self, database: str = "postgres") -> Any:
        """A session of a client."""
        import psycopg

        return psycopg.connect(self.connection(database), autocommit=True)


@contextlib.contextmanager
def postgres_server() -> Iterator[Postgres]:
    """A running server until the block ends; skips where PostgreSQL is not installed."""
    if not PROGRAMS:
        pytest.skip("postgresql is not installed (Debian: apt-get install postgresql)")
    # Not in pytest's folders, which only their owner may enter.
    with TemporaryDirectory() as folder:
        server = Postgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
