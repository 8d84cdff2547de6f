"""All checks: each has a fault that a test injects."""

from pathlib import Path

from orchestration.quality.suites import CHECKS, Rows
from tests.support.pipeline.quality_faults import DAY_FAULTS, MINUTE_FAULTS


def test_every_check_has_a_fault_that_a_test_injects() -> None:
    faults = {fault[1] for fault in (*MINUTE_FAULTS.values(), *DAY_FAULTS.values())}
    text = "".join(file.read_text() for file in Path(__file__).parents[1].rglob("test_*.py"))
    assert [check.name for check in CHECKS if check.name not in faults and f'"{check.name}"' not in text] == []
    assert all("{batch}" in one.sql for check in CHECKS for one in check.expects if isinstance(one, Rows))
