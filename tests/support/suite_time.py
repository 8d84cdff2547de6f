"""Where a run of the suite spends its time: the files and tests that took longest, printed when the run ends.

CPU counts the worker and the processes that it has waited for, so that a file whose tests start processes shows what
these cost. What a server of the whole session uses counts where the server ends.
"""

import os
from collections import defaultdict
from collections.abc import Generator

import pytest

LONGEST = 20
_cpu_before = 0.0


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_collection_finish() -> None:
    """CPU from here on is the tests'."""
    global _cpu_before
    _cpu_before = _cpu_s()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the CPU used since the last report, as a property: those reach the process that prints from every worker."""
    global _cpu_before
    report = yield
    now = _cpu_s()
    report.user_properties.append(("cpu_s", now - _cpu_before))
    _cpu_before = now
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print both lists, of a run of more than one file."""
    wall, cpu = defaultdict[str, float](float), defaultdict[str, float](float)
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if isinstance(report, pytest.TestReport):
            for place in (report.nodeid.partition("::")[0], report.nodeid):
                wall[place] += report.duration
                cpu[place] += float(str(dict(report.user_properties).get("cpu_s", 0)))  # none of a worker that crashed
    files = {place for place in wall if "::" not in place}
    if len(files) < 2:
        return
    total_wall, total_cpu = (sum(spent[file] for file in files) for spent in (wall, cpu))
    terminalreporter.section(f"{total_wall:.0f} s of workers, {total_cpu:.0f} s of CPU in {len(files)} files")
    for kind, places in (("files", files), ("tests", wall.keys() - files)):
        terminalreporter.write_line(f"   wall     CPU  the longest {kind}")
        for place in sorted(places, key=lambda place: -wall[place])[:LONGEST]:
            terminalreporter.write_line(f"{wall[place]:7.1f} {cpu[place]:7.1f}  {place}")
