"""Serialization: what is not finite is null, and Parquet and Arrow say what JSON says."""

import io
import json
import math
import subprocess
import sys

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.contract.serialize import ARROW, PARQUET, arrow_body, json_body, parquet_body, strict_json

TABLE = pa.table({"t": pa.array([0, 60_000], pa.int64()), "v": pa.array([1.5, None], pa.float64())})
SAID = {"metric": "price", "gaps": []}

LONGEST = """
import json
import numpy as np
from serve.contract.serialize import json_body

chance = np.random.default_rng(1)
for length in range(1, 1500):
    values = -chance.uniform(1.1e-5, 9.9e-5, length)
    content = {"t": np.arange(length) + 1_795_623_600_000, "v": values, "gaps": [{"start": 1, "venue": None}]}
    assert json.loads(json_body(content).data)["v"] == values.tolist()
print(length)
"""


@pytest.mark.requirement("markets:strict-json")
@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.lists(st.floats(), max_size=4), max_size=4))
def test_what_is_not_finite_is_null(content: dict[str, list[float]]) -> None:
    wanted = {name: [value if math.isfinite(value) else None for value in values] for name, values in content.items()}
    assert orjson.loads(strict_json(json.dumps(content).encode())) == wanted
    arrays = {name: np.array(values, np.float64) for name, values in content.items()}
    assert orjson.loads(json_body(arrays).data) == wanted


@pytest.mark.requirement("markets:strict-json")
def test_strict_text_stays_as_it_is() -> None:
    text = b'{"a": 1.0, "b": [null]}'
    assert strict_json(text) is text


@pytest.mark.requirement("series:formats")
def test_files_have_the_rows_and_what_is_said_of_them() -> None:
    packed, stream = parquet_body(TABLE, SAID), arrow_body(TABLE, SAID)
    assert (packed.content_type, stream.content_type) == (PARQUET, ARROW)
    for table in (pq.read_table(io.BytesIO(packed.data)), pa.ipc.open_stream(stream.data).read_all()):
        assert table.to_pydict() == TABLE.to_pydict()
        assert json.loads(table.schema.metadata[b"tidemark"]) == SAID


@pytest.mark.requirement("markets:strict-json")
def test_arrays_of_the_longest_numbers_keep_the_process_alive() -> None:
    """Negative numbers below 0.0001 with 17 digits, as funding has them, at each length around the sizes to which a
    buffer grows. orjson 3.12.0 and 3.13.0 wrote past it, which ended the process that serves."""
    made = subprocess.run([sys.executable, "-c", LONGEST], capture_output=True, text=True)
    assert (made.returncode, made.stdout, made.stderr) == (0, "1499\n", "")
