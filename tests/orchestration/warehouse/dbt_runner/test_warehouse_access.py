"""dbt's connection to the warehouse: with a landing in an object store, which is built, compacted and checked as a
folder is, and without a log."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from ingest.landing.loads import LandingFault, committed_loads
from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.quality.facts import collect
from orchestration.warehouse.arrivals import new_arrivals, wait_for_minute
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.dbt_runner.process import DbtError, dbt_environment
from orchestration.warehouse.transform import build
from orchestration.warehouse.windows import LandingFileError
from orchestration.warehouse.writer import connection
from tests.support.command import environment, sentence, tidemark
from tests.support.pipeline.dbt_project import give_dbt, give_parsed
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for, tables
from tests.support.pipeline.warehouse import give_built
from tests.support.servers.s3_server import BUCKET, S3Server, forget, stormy, use


def quiet(_: str) -> None:
    """No progress lines."""


@pytest.fixture
def far(s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Settings]:
    """A home whose landing is in the object store."""
    use(s3, monkeypatch)
    settings = replace(settings_for(tmp_path / "far"), landing=f"s3://{BUCKET}/{tmp_path.name}/landing")
    give_dbt(settings)
    give_built(settings)
    yield settings
    forget()


def test_a_landing_in_an_object_store_is_built_compacted_and_checked_as_a_folder_is(
    far: Settings, tmp_path: Path
) -> None:
    near = settings_for(tmp_path / "near")
    give_dbt(near)
    give_built(near)

    def record(*minutes: int) -> None:
        for settings in (near, far):
            land_minutes(settings, [T0 + minute * MINUTE for minute in minutes])
            assert build(settings, report=quiet) is not None
        assert tables(far.warehouse) == tables(near.warehouse)

    assert build(far, report=quiet) is None
    record(0, 1)
    assert wait_for_minute(far.landing, T0 + MINUTE, 0, quiet)
    assert new_arrivals(far.landing, []).load_id == committed_loads(far.landing)[-1].load_id
    record(2, 3)
    counts = []
    for settings in (near, far):
        publish(settings, report=quiet)
        found, _ = collect(settings, "hourly", T0 + 10 * MINUTE)
        with duckdb.connect(str(found), read_only=True) as con:
            counts.append(con.execute("select count(*), count(distinct endpoint) from responses").fetchall())
    assert counts[0] == counts[1] != [(0, 0)]
    assert compact_landing(far, "2999-01-01") == 1
    assert len(committed_loads(far.landing)) == 1
    record(4)  # which reads older minutes from the compacted file


def test_a_store_that_fails_in_a_build_is_named_and_no_exchange_is_blamed(
    far: Settings, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    land_minutes(far, [T0, T0 + MINUTE])
    with stormy(s3) as (behind, weather):
        use(behind, monkeypatch)
        weather.status = 503
        with pytest.raises(LandingFault, match=f"^{far.landing} cannot be listed: .*503"):
            build(far, report=quiet)
        weather.of = ".parquet"
        with pytest.raises(LandingFileError, match=r"committed landing file s3://.* cannot be read: .*503"):
            build(far, report=quiet)
        # In the midst of the window: what dbt reads itself fails.
        failures = []
        for good in range(2, 60, 6):
            weather.good = good
            try:
                build(far, report=quiet)
                break
            except (LandingFileError, DbtError) as error:
                failures.append(error)
        assert isinstance(failures[-1], DbtError)
        assert all("503" in str(error) for error in failures)
        with duckdb.connect(far.warehouse, read_only=True) as con:
            assert con.execute("select count(*) from pipeline.quarantine").fetchone() == (0,)
            assert con.execute("select count(distinct minute_ms) from int_market_minutes").fetchone() == (2,)


def test_a_landing_that_cannot_work_is_one_sentence_before_anything_starts(s3: S3Server, tmp_path: Path) -> None:
    far = {"TIDEMARK_LANDING": "s3://no-such-bucket/landing"}
    done = tidemark(environment(tmp_path, **s3.environ(), **far), "demo")
    assert done.returncode == 1
    assert "s3://no-such-bucket/landing takes no rows" in sentence(done)
    assert "The specified bucket does not exist. TIDEMARK_LANDING names it" in sentence(done)
    assert not list(tmp_path.glob("logs/*"))
    down = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9", "TIDEMARK_LANDING": f"s3://{BUCKET}/landing"}
    done = tidemark(environment(tmp_path, **{**s3.environ(), **down}), "build")
    assert done.returncode == 1
    assert "cannot be listed: Could not connect to the endpoint URL" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


# What a fork of the dbt server does, in a process of its own: it changes dbt.
UNLOGGED = """
import os, resource, sys
import duckdb
from dbt.cli.main import dbtRunner
from orchestration.warehouse.dbt_runner import warehouse_access

warehouse_access.leave_out_log()
outcome = dbtRunner().invoke(["seed", "--select", "quotes", "--quiet"])
assert outcome.success, outcome.exception
seen = warehouse_access.connection().cursor().execute("select count(*) > 0 from warehouse.main.quotes").fetchall()
file = os.environ["TIDEMARK_WAREHOUSE"]
print(seen[0][0], os.path.getmtime(file) == float(sys.argv[1]), os.path.exists(f"{file}.wal"))
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    warehouse_access.close()
except duckdb.Error as error:
    print(type(error).__name__)
con = warehouse_access.connection()
print(con is None or "warehouse" not in {name for (name,) in con.execute("from (show databases)").fetchall()})
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("full", [False, True])
def test_what_dbt_writes_without_a_log_is_in_the_file_when_it_is_closed(tmp_path: Path, full: bool) -> None:
    """Or not at all, and then it says so: DuckDB's own closing would say nothing."""
    settings = settings_for(tmp_path)
    give_parsed(settings)
    with connection(settings.warehouse) as con:
        con.execute("create table known as select 1 as n")
    changed = str(Path(settings.warehouse).stat().st_mtime)
    done = subprocess.run(
        [sys.executable, "-c", UNLOGGED, changed, *(["full"] if full else [])],
        env=dbt_environment(settings, settings.dbt_target), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["True True False", *(["IOException"] if full else []), "True"], done.stderr
    with connection(settings.warehouse, read_only=True) as con:
        assert con.execute("from known").fetchall() == [(1,)]
        found = con.execute("select table_name from duckdb_tables() where table_name = 'quotes'").fetchall()
        assert bool(found) is not full
