"""A run of the checks of a period: what is clean passes, and Great Expectations stays in its own process."""

import subprocess
import sys

from orchestration.config.settings import REPOSITORY
from tests.support.pipeline.quality_home import QualityHome


def test_clean_data_passes_every_check(clean: QualityHome) -> None:
    assert clean.check("hourly") == {}
    assert clean.check("daily") == {}
    assert clean.suspects() == []
    assert list(clean.settings.quality.glob("facts_*")) == []


# Every process of the product but the checks' own; the code server's is tested with Dagster's definitions.
LIGHT = (
    "ingest.recorder.recorder",
    "sandbox.server",
    "serve.app",
    "orchestration.cli.main",
    "orchestration.warehouse.transform",
    "orchestration.publish.publish",
    "orchestration.supervise.product",
    "orchestration.cli.status",
    "orchestration.quality.run",
)


def test_great_expectations_is_imported_by_its_own_process_alone() -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {LIGHT!r}: importlib.import_module(name)\n"
        "print([name for name in ('great_expectations', 'pandas', 'sqlalchemy') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "[]", run.stderr
