"""The warehouse as a lake, in a real PostgreSQL and a real object store: the same tables, one writer, whole windows."""

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, STDOUT

import duckdb
import pytest

from benchmarks.cluster import requests
from orchestration.config.places import LAKE
from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.supervise.preflight import PreflightError, check_folders
from orchestration.warehouse import lake
from orchestration.warehouse.access import maintain, open_by_name, open_warehouse, warehouse_lock
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import WriterBusyError
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import MINUTE, T0, command_env, land_minutes, settings_for
from tests.support.pipeline.warehouse import STAMPS, give_built
from tests.support.servers.api_server import ROOT, free_port, running, until
from tests.support.servers.postgres_server import PASSWORD, Postgres
from tests.support.servers.s3_server import BUCKET, S3Server, forget, use

# What a warehouse has of its own: times of builds and models, settings that name the project's files, and the SQL that
# dbt ran, which is not the same where a lake differs.
OWN = ("pipeline.builds", "pipeline.model_times", "pipeline.settings", "pipeline.built_by", "pipeline.compiled")


def quiet(_: str) -> None:
    """No progress lines."""


def lake_for(home: Path, postgres: Postgres, data: str) -> Settings:
    """A home whose warehouse is a lake that is not there yet."""
    catalog = LAKE + postgres.connection(postgres.database())
    return replace(settings_for(home), warehouse=catalog, lake_data=data)


def rows_of(warehouse: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, without when it was known."""
    with open_by_name(warehouse, read_only=True) as con:
        names = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() "
            "where database_name = current_database() order by all"
        ).fetchall()
        of = f"select columns(name -> name not in {STAMPS}) from {{}} order by all"
        return {name: con.execute(of.format(name)).fetchall() for (name,) in names if name not in OWN}


@pytest.mark.timeout(1800)
def test_the_same_landing_gives_the_same_tables_in_a_file_and_in_a_lake(
    postgres: Postgres, s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also after a build that was killed in the midst of a window, maintenance under a reader, and a restart."""
    use(s3, monkeypatch)
    near = settings_for(tmp_path / "near")
    far = replace(lake_for(tmp_path / "far", postgres, f"s3://{BUCKET}/{tmp_path.name}/lake"), landing=near.landing)
    for settings in (near, far):
        give_dbt(settings)
    give_built(near)
    check_folders(far)

    def land(*minutes: int) -> None:
        land_minutes(near, [T0 + minute * MINUTE for minute in minutes])

    land(0, 1)
    for settings in (near, far):
        assert build(settings, report=quiet) is not None
    assert rows_of(far.warehouse) == rows_of(near.warehouse)
    for settings in (near, far):
        assert publish(settings, report=quiet) is not None

    # Killed between two models: what readers see is the window before.
    with open_by_name(far.warehouse, read_only=True) as con:
        [(before,)] = con.execute("select max(minute_ms) from main.int_market_minutes").fetchall()
    land(2)
    reached = "select count(*) from main.int_market_minutes where minute_ms > ?"
    written = (
        "select count(*) from ducklake_data_file join ducklake_table using (table_id) "
        "where table_name = 'int_market_minutes' and ducklake_data_file.begin_snapshot > %s"
    )
    catalog = postgres.session(re.findall(r"dbname=(\w+)", far.warehouse)[0])
    newest = catalog.execute("select max(snapshot_id) from ducklake_snapshot").fetchall()[0][0]
    command = [sys.executable, "-m", "orchestration.cli", "build"]
    victim = subprocess.Popen(command, env={**command_env(far), **s3.environ()}, stdout=PIPE, stderr=STDOUT)

    def in_the_midst() -> bool:
        assert victim.poll() is None, victim.communicate()[0].decode()
        return bool(catalog.execute(written, (newest,)).fetchall()[0][0])

    try:
        until(in_the_midst, bool, 600)
    finally:
        victim.kill()
        victim.communicate()
        catalog.close()
    with open_by_name(far.warehouse, read_only=True) as con:
        assert con.execute(reached, [before]).fetchall() == [(0,)]
        assert con.execute("select count(*) from pipeline.window_minutes").fetchall() == [(0,)]
    assert publish(far, report=quiet) is None

    for settings in (near, far):
        assert build(settings, report=quiet) is not None
    assert rows_of(far.warehouse) == rows_of(near.warehouse)

    # Maintenance while somebody reads: the reader's snapshot stays whole, and nothing changes for the next.
    with open_by_name(far.warehouse, read_only=True) as con:
        counted = con.execute("select count(*), sum(price) from main.series_market_1m").fetchall()
        assert "snapshots" in maintain(far, report=quiet)
        assert con.execute("select count(*), sum(price) from main.series_market_1m").fetchall() == counted
    assert rows_of(far.warehouse) == rows_of(near.warehouse)
    with open_warehouse(far) as con:
        expired, files = lake.maintain(con, far.warehouse, keep_s=0)
    assert expired > 0
    assert files > 0
    assert rows_of(far.warehouse) == rows_of(near.warehouse)

    for settings in (near, far):
        assert publish(settings, report=quiet) is not None
    served = [served_rows(settings) for settings in (near, far)]
    assert served[0] == served[1]
    assert served[0]["series_market_1m"]
    assert any(name.startswith(f"{tmp_path.name}/lake/") for name in s3.names())

    # A host that begins now gives the same bytes as the builder's own server.
    other = replace(settings_for(tmp_path / "other"), warehouse=far.warehouse, lake_data=far.lake_data)
    give_dbt(other)
    assert publish(other, report=quiet) is not None
    clock = T0 + 4 * MINUTE
    with (
        running(far.serving, free_port(), now_ms=clock) as one,
        running(other.serving, free_port(), now_ms=clock) as two,
    ):
        for path in sorted({*requests(), "/api/methodology/oi"}):
            first, second = one.get(path), two.get(path)
            assert (first.status, first.headers.get("etag"), first.body) == (
                second.status,
                second.headers.get("etag"),
                second.body,
            ), path
            # Of two of the five coins the home has no market.
            assert first.status == (404 if re.search("base=(XRP|DOGE)", path) else 200), first
        # Also the SQL, which the builder alone has beside its project.
        models = two.get("/api/methodology/oi").json["models"]
        assert {model["layer"] for model in models if model["sql"]} >= {"marts", "intermediate", "staging"}
    forget()


def served_rows(settings: Settings) -> dict[str, list[tuple[object, ...]]]:
    newest = max(settings.serving.glob("replica_*.duckdb"), key=lambda file: file.stat().st_mtime)
    with duckdb.connect(str(newest), read_only=True) as con:
        of = f"select columns(name -> name not in {STAMPS}) from {{}} order by all"
        return {
            name: con.execute(of.format(name)).fetchall() for name in ("series_market_1m", "series_base_1h", "gaps")
        }


def test_one_builder_writes_a_lake_whatever_home_it_has(postgres: Postgres, tmp_path: Path) -> None:
    first = lake_for(tmp_path / "first", postgres, str(tmp_path / "rows"))
    second = replace(settings_for(tmp_path / "second"), warehouse=first.warehouse, lake_data=first.lake_data)
    said: list[str] = []
    with (
        warehouse_lock(first, "build"),
        pytest.raises(WriterBusyError) as refused,
        warehouse_lock(second, "build", wait_s=0.2, report=said.append),
    ):
        pass
    assert re.match(r"one writer at a time: build on \S+ \(process \d+\) has held ducklake:", str(refused.value))
    assert said == [f"waiting for the lake, held by build on {socket.gethostname()} (process {os.getpid()})"]
    assert PASSWORD not in str(refused.value) + str(said)
    with warehouse_lock(second, "build", wait_s=5):
        pass


HOLDS = """
import subprocess, sys
from orchestration.config.settings import Settings
from orchestration.warehouse.access import warehouse_lock

with warehouse_lock(Settings.from_env(), "build") as lock:
    child = subprocess.Popen(["sleep", "600"], pass_fds=(lock,), stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    child.wait()
"""


def test_a_child_that_outlives_its_killed_parent_is_still_the_writer(postgres: Postgres, tmp_path: Path) -> None:
    settings = lake_for(tmp_path / "home", postgres, str(tmp_path / "rows"))
    parent = subprocess.Popen([sys.executable, "-c", HOLDS], env=command_env(settings), stdout=PIPE, cwd=ROOT)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait()
        with pytest.raises(WriterBusyError), warehouse_lock(settings, "build", wait_s=0.5, report=quiet):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
    with warehouse_lock(settings, "build", wait_s=30, report=quiet):
        pass


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"password": "wrong"}, "password authentication failed"),
        ({"dbname": "nothing"}, 'database "nothing" does not exist'),
        ({"port": "1"}, "refused"),
    ],
)
def test_a_catalog_that_refuses_is_one_sentence_before_anything_starts(
    postgres: Postgres, tmp_path: Path, broken: dict[str, str], said: str
) -> None:
    settings = lake_for(tmp_path / "home", postgres, str(tmp_path / "rows"))
    words = dict(word.split("=") for word in settings.warehouse.removeprefix(LAKE).split()) | broken
    settings = replace(settings, warehouse=LAKE + " ".join(f"{name}={value}" for name, value in words.items()))
    with pytest.raises(PreflightError, match=said) as refused:
        check_folders(settings)
    assert PASSWORD not in str(refused.value)


def test_rows_that_are_elsewhere_than_the_lake_has_them_are_refused(postgres: Postgres, tmp_path: Path) -> None:
    settings = lake_for(tmp_path / "home", postgres, str(tmp_path / "rows"))
    with warehouse_lock(settings, "build"), duckdb.connect() as con:
        with pytest.raises(lake.LakeError, match="elsewhere") as refused:
            lake.attach(con, settings.warehouse, data=str(tmp_path / "elsewhere"))
        assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ("ducklake:postgres:dbname=a password=geheim user=b", "ducklake:postgres:dbname=a password=… user=b"),
        ("ducklake:postgres:password='ge heim' dbname=a", "ducklake:postgres:password=… dbname=a"),
        ("ducklake:postgres:postgresql://u:geheim@db/a", "ducklake:postgres:postgresql://u:…@db/a"),
    ],
)
def test_a_password_is_never_shown(setting: str, shown: str) -> None:
    assert lake.shown(setting) == shown
