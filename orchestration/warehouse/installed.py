"""What the installation makes of the dbt project: the parsed project, and a warehouse with all tables and no rows.

Both take longer than everything else in a first start. `tidemark prepare` makes them once, in a folder of the project;
a first start copies them while the project's files are exactly those that they were made from. Without them, or with
others, it makes its own.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestration.config.settings import WAREHOUSE, Settings
from orchestration.warehouse.access import exists, open_warehouse, warehouse_lock
from orchestration.warehouse.compiled import note_compiled
from orchestration.warehouse.dbt_runner.process import (
    INSTALLED,
    PARSED,
    copy_parsed,
    fingerprint,
    installed_for,
    is_current,
    prepare_manifest,
    run_dbt,
)
from orchestration.warehouse.upgrade import adapt, this_version
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.writer import Report, note_settings

COMPILED = "compiled"
EMPTY_BUILD = ("build", "--resource-type", "model", "--resource-type", "seed")


def prepare_installation(report: Report = print) -> bool:
    """Make it, unless it is there for the project's files; whether it was made."""
    if is_current(INSTALLED / PARSED[0]):
        return False
    INSTALLED.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=INSTALLED.parent) as folder:
        settings = Settings.from_env({"TIDEMARK_HOME": folder})
        with warehouse_lock(settings, "prepare", report=report) as lock:
            manifest = prepare_manifest(settings, report)
            report("making its tables")
            with open_warehouse(settings) as con:
                prepare(con)
                adapt(con, settings, fingerprint(), report)
            run_dbt(settings, EMPTY_BUILD, lock=lock)
            with open_warehouse(settings) as con:
                note_compiled(con, settings.dbt_target / COMPILED)
                # As a build of a minute notes it: the next one is of the same project.
                noted = {"project": fingerprint(), "seeds": fingerprint("seeds"), "version": this_version()}
                note_settings(con, noted)
        made = Path(folder) / "made"
        made.mkdir()
        copy_parsed(manifest.parent, made, settings.warehouse, str(INSTALLED / WAREHOUSE))
        shutil.copytree(settings.dbt_target / COMPILED, made / COMPILED)
        Path(settings.warehouse).replace(made / WAREHOUSE)
        shutil.rmtree(INSTALLED, ignore_errors=True)
        made.replace(INSTALLED)
    return True


def begin_installed(settings: Settings) -> None:
    """Begin a home's warehouse with the empty one, if it fits and nothing is there yet. The caller holds the writer
    lock."""
    warehouse = Path(settings.warehouse)
    if not installed_for(settings) or exists(settings.warehouse) or Path(f"{warehouse}.wal").exists():
        return
    shutil.copytree(INSTALLED / COMPILED, settings.dbt_target / COMPILED, dirs_exist_ok=True)
    begun = warehouse.with_name(f"{warehouse.name}.begun")
    shutil.copyfile(INSTALLED / WAREHOUSE, begun)
    begun.replace(warehouse)
