"""SQL on the newest edition, beside the server: every text runs on the edition that is newest then.

A replica that is read cannot be written, and every second edition is written into the same one. So nothing is held
between two texts, and one that runs too long is interrupted; a copy of an edition may be read for as long as it takes.
"""

import csv
import fcntl
import json
import shutil
import threading
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import IO, Literal

import duckdb
import orjson

from orchestration.publish.edition import attached
from orchestration.warehouse.writer import PipelineError

Form = Literal["table", "csv", "json"]
NAME = "edition"
# The replica is written again a minute after the next edition.
SECONDS = 45.0
ROWS_SHOWN, MANY = 100, 10_000
CLONE = 0x40049409  # Linux's FICLONE


class TooLongError(PipelineError):
    """A text was interrupted."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"interrupted after {seconds:g} s, so that new editions can be written; --copy runs on a copy without a "
            "limit, --seconds changes it"
        )


class Session:
    """A DuckDB in memory, where tables may be made, with the tables of the newest edition beside."""

    def __init__(self, serving: Path, seconds: float = SECONDS) -> None:
        self.serving = serving
        self.seconds = seconds
        self._con = duckdb.connect(config={"autoinstall_known_extensions": False})
        self._con.execute("set TimeZone = 'UTC'")

    def run(self, text: str, out: IO[str], form: Form = "table") -> None:
        """Run the statements of a text and write the rows of each: a table of the first and last, CSV, or JSON, an
        object a line. Raises duckdb.Error, or TooLongError after `seconds`."""
        statements = self._con.extract_statements(text)
        with attached(self._con, self.serving, NAME):
            self._con.execute(f"set search_path = 'memory.main,{NAME}.main'")
            ended = threading.Event()

            def interrupt() -> None:
                ended.set()
                self._con.interrupt()

            timer = threading.Timer(self.seconds, interrupt)
            timer.daemon = True
            timer.start()
            try:
                for statement in statements:
                    self._write(statement, out, form)
            except duckdb.InterruptException:
                if ended.is_set():
                    raise TooLongError(self.seconds) from None
                raise
            finally:
                timer.cancel()
                with suppress(duckdb.Error):
                    self._con.execute("rollback")  # it would hold the edition
                self._con.execute("set search_path = 'memory.main'")

    def _write(self, statement: duckdb.Statement, out: IO[str], form: Form) -> None:
        if form == "table":
            found = self._con.sql(statement.query)
            if found is not None:
                with redirect_stdout(out):
                    found.show(max_width=shutil.get_terminal_size((160, 24)).columns, max_rows=ROWS_SHOWN)
            return
        result = self._con.execute(statement)
        if statement.expected_result_type != [duckdb.ExpectedResultType.QUERY_RESULT]:
            return
        names = [column[0] for column in result.description or []]
        if form == "csv":
            lines = csv.writer(out, lineterminator="\n")
            lines.writerow(names)
            while rows := result.fetchmany(MANY):
                lines.writerows(rows)
            return
        while rows := result.fetchmany(MANY):
            objects = (dict(zip(names, row, strict=True)) for row in rows)
            out.writelines(orjson.dumps(one, default=str).decode() + "\n" for one in objects)


def copied(serving: Path, folder: Path) -> Path:
    """Copy the newest replica into a folder as one that serves it; costs nothing where the file system clones files."""
    with duckdb.connect() as con, attached(con, serving, NAME) as current:
        with (serving / current["replica"]).open("rb") as source, (folder / current["replica"]).open("wb") as target:
            try:
                fcntl.ioctl(target.fileno(), CLONE, source.fileno())
            except OSError:
                shutil.copyfileobj(source, target, 1 << 24)
        (folder / "current.json").write_text(json.dumps(current))
    return folder
