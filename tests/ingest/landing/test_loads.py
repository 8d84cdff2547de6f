"""Which loads of a landing are seen, and where their files are."""

import json
import subprocess
import sys
from pathlib import Path

from ingest.landing.landing import Landing, land
from ingest.landing.loads import committed_loads, in_landing
from tests.support.landing_rows import row, table


def test_only_committed_loads_are_seen(tmp_path: Path) -> None:
    """A file without its row in _dlt_loads, or with a torn one, does not exist for readers."""
    landing = tmp_path / "landing"
    target = Landing(str(landing), tmp_path / "dlt")
    for n in range(3):
        target.land(table(row(n)))
    loads = committed_loads(str(landing))
    assert [load.load_id for load in loads] == sorted(load.load_id for load in loads)
    day = Path(loads[0].files[0]).parent
    (day / "9999999999.1.abc.parquet").write_bytes(b"PAR1 half")
    (day / f"{loads[0].load_id}.abc.parquet.part").write_bytes(b"half")
    assert committed_loads(str(landing)) == loads
    records = {json.loads(path.read_text())["load_id"]: path for path in (landing / "_dlt_loads").glob("*.jsonl")}
    records[loads[1].load_id].write_text('{"load_id": ')
    assert committed_loads(str(landing)) == [loads[0], loads[2]]
    records[loads[1].load_id].write_text(json.dumps({"load_id": loads[1].load_id, "status": 1}))
    assert committed_loads(str(landing)) == [loads[0], loads[2]]


def test_loads_after_one(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    target = Landing(str(landing), tmp_path / "dlt")
    assert committed_loads(str(landing)) == []
    for n in range(4):
        target.land(table(row(n)))
    loads = committed_loads(str(landing))
    for index, load in enumerate(loads):
        assert committed_loads(str(landing), after=load.load_id) == loads[index + 1 :]


def test_a_noted_file_is_found_where_the_landing_is_now(tmp_path: Path) -> None:
    land([row(1)], str(tmp_path / "responses" / "old"), tmp_path / "dlt")
    ((noted,),) = (load.files for load in committed_loads(str(tmp_path / "responses" / "old")))
    assert in_landing(str(tmp_path / "responses" / "old"), noted) == noted
    (tmp_path / "responses" / "old").rename(tmp_path / "new")
    ((moved,),) = (load.files for load in committed_loads(str(tmp_path / "new")))
    assert in_landing(str(tmp_path / "new"), noted) == moved
    name = "2026-03-04/1772582400.1.a.parquet"
    for old in ("s3://bucket/a/landing", "/a/landing"):
        assert in_landing("memory://bucket/landing", f"{old}/responses/{name}").endswith(f"landing/responses/{name}")
    assert in_landing("memory://bucket/landing", noted).startswith("memory://")


def test_readers_of_loads_import_neither_dlt_nor_arrow() -> None:
    """A minute's build would wait a tenth of a second for Arrow, and three for dlt."""
    asks = "import sys, orchestration.warehouse.transform; print({'dlt', 'pyarrow', 'numpy'} & {*sys.modules})"
    imported = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True).stdout
    assert imported.strip() == "set()"
