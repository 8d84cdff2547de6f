"""Memory of a recording process, measured in a separate process."""

import subprocess
import sys

import pytest

CHILD = """
import sys
from ingest.landing.memory import give_back, stay_small
stay_small()
import pyarrow as pa
assert pa.array(["a", None]).null_count == 1
assert "pandas" not in sys.modules
bodies = pa.array(["x" * 2**20] * 40)
held = resident()
del bodies
give_back()
freed = held - resident()
assert freed > 30, freed
import pandas
"""
RESIDENT = """
def resident():
    with open("/proc/self/statm") as reported:
        return int(reported.read().split()[1]) * 4096 / 2**20
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, which only Linux has")
def test_pandas_is_not_imported_and_freed_memory_is_returned() -> None:
    """What is not used is not loaded, and what is freed is the system's; who needs pandas still finds it."""
    done = subprocess.run([sys.executable, "-c", RESIDENT + CHILD], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
