"""Writes a minute into the replica that nobody reads while the minute is built: each table when its model is.

Models wait for those that they read, so that two cores are not all theirs. What is written meanwhile is not left for
the publish. Nothing of it is noted: if the build fails, the next publish writes the same rows again, because the same
minutes are built again.
"""

import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import duckdb

from orchestration.config.settings import Settings
from orchestration.publish.clustering import Touched
from orchestration.publish.edition import read_current
from orchestration.publish.publish import state_of, unread
from orchestration.publish.replica import (
    Begun,
    copy_history,
    copy_snapshot,
    copy_tier,
    list_late_ratios,
    list_touched,
)
from orchestration.warehouse.access import holding, open_replica
from orchestration.warehouse.dbt_runner.process import PARSED
from orchestration.warehouse.served import read_served
from orchestration.warehouse.writer import PipelineError

# The model that says which single rows a build touches.
TOUCHED_MARKETS = "touched_markets"
# Of a thread that has what the models leave of the cores.
NICE = 10


class Ahead:
    """The replica of one build. What cannot be written now is left to the publish.

    written   the tables that have the build
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._served = read_served(settings.dbt_target / PARSED[0])
        self._tiers = {table.name: table for table in self._served.tables}
        self._thread = ThreadPoolExecutor(1, initializer=_yield_to_models)
        self._steps = list[Future[None]]()
        self._open = ExitStack()
        self._con: duckdb.DuckDBPyConnection | None = None
        self._as_of_ms = 0
        self._stored = set[str]()
        self._lists_ratios = False
        self._touched = list[Touched]()
        self.written = list[str]()

    def model_built(self, name: str, dbt: duckdb.DuckDBPyConnection) -> None:
        """Write this model's rows, on a thread of its own, with another cursor of dbt's connection."""
        if name == TOUCHED_MARKETS:
            self._steps.append(self._thread.submit(self._begin, dbt))
        elif name in self._served.names:
            self._steps.append(self._thread.submit(self._write, name))

    def begun(self) -> Begun | None:
        """What is written, for the publish, which then has the replica for itself; None if nothing could be."""
        self._thread.shutdown(cancel_futures=True)
        for step in self._steps:
            if not step.cancelled() and (error := step.exception()) is not None:
                print(f"the replica waits for the publish: {error}")
                self.close()
                return None
        return Begun(self._con, self.written, self._touched) if self._con is not None else None

    def close(self) -> None:
        """Stop, and leave the replica."""
        self._thread.shutdown(cancel_futures=True)
        self._open.close()
        self._con = None

    def _begin(self, dbt: duckdb.DuckDBPyConnection) -> None:
        current = read_current(self._settings.serving)
        target = self._settings.serving / unread(current)
        if current is None or not target.exists():
            return
        with holding(dbt):
            opened = open_replica(target, self._settings.build_resources, logged=False, wait_s=0.0)
            con = self._open.enter_context(opened)
        state = state_of(con)
        if state is None:
            raise PipelineError(f"{target.name} holds no published state")
        list_touched(con, state[0])
        of_build = "select value::bigint from warehouse.pipeline.settings where name = 'as_of_ms'"
        [(self._as_of_ms,)] = con.execute(of_build).fetchall()
        # A view may show what is noted when the window is closed.
        stored = "select table_name from duckdb_tables() where database_name = 'warehouse' and schema_name = 'main'"
        self._stored = {name for (name,) in con.execute(stored).fetchall()}
        self._con = con

    def _write(self, name: str) -> None:
        con = self._con
        if con is None or name not in self._stored:
            return
        con.execute("begin")
        if tier := self._tiers.get(name):
            if tier.late == "late_ratios" and not self._lists_ratios:
                list_late_ratios(con)
                self._lists_ratios = True
            self._touched.append(copy_tier(con, tier, self._as_of_ms))
        elif history := self._served.histories.get(name):
            copy_history(con, name, history)
        else:
            copy_snapshot(con, name)
        con.execute("commit")
        self.written.append(name)


def _yield_to_models() -> None:
    # On Linux each thread has its own; elsewhere the whole process would be nice.
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
