"""The generated dbt docs: what every model, column and metric means, as files that the API serves at /dbt/."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import PARSED, prepare_manifest, run_dbt
from orchestration.warehouse.writer import writer_lock

FILES = ("manifest.json", "catalog.json", "index.html")


def make_docs(settings: Settings) -> Path:
    """Generate the docs and move them into place, file by file; returns their folder.

    dbt reads the warehouse for the columns' types, so this waits its turn among the writers; it starts from the parsed
    project, copied beside what it writes.
    """
    prepare_manifest(settings)
    settings.docs.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.home) as made:
        for name in PARSED:
            shutil.copy2(settings.dbt_target / name, made)
        with writer_lock(settings.home, "dbt docs") as lock:
            run_dbt(settings, ["docs", "generate", "--no-compile", "--target-path", made], lock=lock)
        for name in FILES:
            Path(made, name).replace(settings.docs / name)
    return settings.docs
