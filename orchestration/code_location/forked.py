"""What the fork server imports before it forks the first run (see `server`): the definitions, with their jobs.

A run must see the dbt project as it is now, as a new process would. Where its files have changed since, a fork forgets
our modules, so that the run imports them again.
"""

import gc
import logging
import os
import sys

from orchestration.warehouse.dbt_runner.process import files_now, fingerprint

OURS = ("ingest", "orchestration")
NOTED = files_now()


def _forget_if_changed() -> None:
    if files_now() != NOTED:
        for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
            del sys.modules[name]


try:
    from orchestration.code_location import definitions

    definitions.defs.resolve_job_def("minute")
    # Kept for the runs, each of which asks for both.
    _ = fingerprint(), fingerprint("seeds")
except Exception:
    # The run that needs them fails with the same reason, which Dagster shows.
    logging.getLogger(__name__).exception("the definitions are not imported ahead")
# What is imported is not looked at by the collectors of the forks, which would copy its pages.
gc.freeze()
os.register_at_fork(after_in_child=_forget_if_changed)
