"""Publishes: the replica equals the warehouse, editions only rise, and readers are served whatever happens."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from orchestration.publish.publish import publish_locked
from orchestration.warehouse.served import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.warehouse.writer import PipelineError, WriterBusyError
from tests.support.pipeline.marts import COINS, T0, MartWarehouse, assert_same, quiet, rows, served
from tests.support.pipeline.pipeline_home import polling_reader


def test_an_edition_equals_the_warehouse_and_replicas_alternate(warehouse: MartWarehouse) -> None:
    for minute in range(1, 7):
        late = ((T0 + (minute - 1) * MINUTE_MS, COINS[minute]),)
        warehouse.build(T0 + minute * MINUTE_MS, late=late)
        edition = warehouse.publish()
        assert edition is not None
        assert edition.edition_id == minute
        assert edition.replica == f"replica_{'ab'[(minute - 1) % 2]}.duckdb"
        assert_same(warehouse)
        row = (minute, edition.as_of_ms, edition.published_ms, T0, warehouse.builds)
        assert rows(served(warehouse), "from edition") == [row]
    current = json.loads((warehouse.serving / "current.json").read_text())
    assert set(current) == {"replica", "edition_id", "as_of_ms", "published_ms"}
    assert current["as_of_ms"] == T0 + 6 * MINUTE_MS + 20_000


def test_catalog_and_tiers_are_part_of_the_edition(warehouse: MartWarehouse) -> None:
    warehouse.publish()
    assert rows(served(warehouse), "select metric, definition ->> 'title' from catalog") == [("price", "Price")]
    assert rows(served(warehouse), "select step, keep_days from tiers where step in ('1m', '1d') order by 1") == [
        ("1d", None),
        ("1m", 7),
    ]
    warehouse.define({"price": {"title": "Last price"}})
    edition = warehouse.publish()
    assert edition is not None
    assert edition.edition_id == 2
    assert rows(served(warehouse), "select definition ->> 'title' from catalog") == [("Last price",)]


def test_nothing_new_is_no_edition_unless_forced(warehouse: MartWarehouse) -> None:
    assert warehouse.publish() is not None
    assert warehouse.publish() is None
    forced = warehouse.publish(force=True)
    assert forced is not None
    assert forced.edition_id == 2
    assert_same(warehouse)


def test_nothing_built_is_no_edition(tmp_path: Path) -> None:
    assert publish_locked(str(tmp_path / "none.duckdb"), tmp_path, tmp_path / "none.json", say=quiet) is None
    assert MartWarehouse(tmp_path).publish() is None


def test_an_interrupted_build_is_not_published(warehouse: MartWarehouse) -> None:
    with duckdb.connect(warehouse.path) as con:
        con.execute("insert into pipeline.window_ticks values (1)")
    with pytest.raises(PipelineError, match="did not finish"):
        warehouse.publish()


def test_other_columns_or_another_warehouse_make_the_replica_anew(warehouse: MartWarehouse) -> None:
    warehouse.publish()
    warehouse.publish(force=True)
    with duckdb.connect(warehouse.path) as con:
        con.execute("alter table series_market_5m add column volume_usd double")
    warehouse.publish()
    assert_same(warehouse)
    with duckdb.connect(warehouse.path) as con:
        con.execute("update pipeline.builds set finished_ms = 99")
        con.execute("update series_market_1m set price = 99")
    edition = warehouse.publish()
    assert edition is not None
    assert edition.edition_id == 4
    assert_same(warehouse)


def test_a_damaged_replica_is_made_anew(warehouse: MartWarehouse) -> None:
    warehouse.publish()
    (warehouse.serving / "replica_b.duckdb").write_bytes(b"no database" * 1000)
    warehouse.build(T0 + MINUTE_MS)
    assert warehouse.publish() is not None
    assert_same(warehouse)


@pytest.mark.parametrize("damage", ["blocks", "cut", "gone"])
def test_a_served_replica_that_is_damaged_is_replaced_at_once(warehouse: MartWarehouse, damage: str) -> None:
    """Nothing new has been built, and nobody need remove a file; an edition's number is not used twice."""
    warehouse.publish()
    warehouse.build(T0 + MINUTE_MS)
    warehouse.publish()
    path = served(warehouse)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:20_000] if damage == "cut" else content[:8192] + b"x" * (len(content) - 8192))
    edition = warehouse.publish()
    assert edition is not None
    assert (edition.edition_id, edition.replica) == (3, "replica_a.duckdb")
    assert_same(warehouse)
    warehouse.build(T0 + 2 * MINUTE_MS)
    assert warehouse.publish() is not None
    assert path == served(warehouse)
    assert_same(warehouse)


def test_what_is_served_stays_while_the_warehouse_is_built_anew(warehouse: MartWarehouse) -> None:
    """A rebuild that was broken off has the oldest days alone; it goes on with every minute's build."""
    warehouse.build(T0 + DAY_MS)
    warehouse.publish()
    before = (warehouse.serving / "current.json").read_text()
    warehouse.write(f"delete from pipeline.builds where as_of_ms > {T0 + HOUR_MS}")
    said: list[str] = []
    assert publish_locked(warehouse.path, warehouse.serving, warehouse.manifest, say=said.append) is None
    assert (warehouse.serving / "current.json").read_text() == before
    assert "edition 1 stays" in said[-1]
    assert warehouse.publish(force=True) is not None
    # A clock that was ahead left an edition of the future behind: it stays for nobody.
    ahead = time.time_ns() // 1_000_000 + DAY_MS
    warehouse.write(f"update pipeline.builds set as_of_ms = {ahead}, finished_ms = 9")
    assert warehouse.publish() is not None
    warehouse.write(f"update pipeline.builds set as_of_ms = {T0}, finished_ms = 10")
    edition = warehouse.publish()
    assert edition is not None
    assert edition.as_of_ms == T0


def test_one_replica_begins_as_a_copy_of_the_other(warehouse: MartWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiers are put in order once: the first replica's are, and a second or damaged one begins with those."""
    warehouse.publish()
    monkeypatch.setattr("orchestration.publish.replica.copy_all", None)
    warehouse.build(T0 + MINUTE_MS)
    second = warehouse.publish()
    assert second is not None
    assert (second.replica, second.edition_id) == ("replica_b.duckdb", 2)
    assert_same(warehouse)
    (warehouse.serving / "replica_a.duckdb").write_bytes(b"no database" * 1000)
    warehouse.build(T0 + 2 * MINUTE_MS, late=((T0, "C3"),))
    third = warehouse.publish()
    assert third is not None
    assert (third.replica, third.edition_id) == ("replica_a.duckdb", 3)
    assert_same(warehouse)
    assert not list(warehouse.serving.glob("*.new"))


def test_a_reader_of_the_other_replica_makes_publish_wait_then_fail_clearly(warehouse: MartWarehouse) -> None:
    warehouse.publish()
    warehouse.publish(force=True)
    warehouse.build(T0 + MINUTE_MS)
    hold = "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(warehouse.serving / "replica_a.duckdb")]
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert reader.stdout is not None
        reader.stdout.readline()
        before = (warehouse.serving / "current.json").read_bytes()
        with pytest.raises(WriterBusyError, match=r"a reader still holds .*replica_a"):
            warehouse.publish(reader_wait_s=0.2)
        assert (warehouse.serving / "current.json").read_bytes() == before
    finally:
        reader.communicate()
    assert warehouse.publish() is not None
    assert_same(warehouse)


def _processes(warehouse: MartWarehouse, seam: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    code = f"import os, sys\nfrom pathlib import Path\nimport orchestration.publish.publish as p\n{seam}\n"
    code += "p.publish_locked(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))"
    command = [sys.executable, "-c", code, warehouse.path, str(warehouse.serving), str(warehouse.manifest)]
    while True:
        yield subprocess.Popen(command, stdout=subprocess.DEVNULL)


def test_killed_publishes_keep_serving_and_the_next_repairs(warehouse: MartWarehouse) -> None:
    """`kill -9` at random points while a reader polls: it never fails, editions rise, the end equals the warehouse."""
    warehouse.publish()
    chance = random.Random(5)
    with polling_reader(warehouse.serving) as seen:
        for minute, process in zip(range(1, 25), _processes(warehouse), strict=False):
            try:
                process.wait(chance.uniform(0.05, 0.6))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            warehouse.build(T0 + minute * MINUTE_MS, late=((T0, COINS[minute % 8]),))
        assert warehouse.publish() is not None
    assert_same(warehouse)
    editions = [edition for edition, _ in seen]
    assert editions == sorted(editions)


@pytest.mark.parametrize(
    "seam",
    [
        "p.replica.copy_touched = lambda *a: os.kill(os.getpid(), 9)",
        "p.replica.drop_old = lambda *a: os.kill(os.getpid(), 9)",
        "p.point_to = lambda *a: os.kill(os.getpid(), 9)",
        "Path.replace = lambda *a: os.kill(os.getpid(), 9)",
    ],
    ids=["before the changes", "after the changes", "before the pointer", "while the pointer flips"],
)
def test_a_publish_that_dies_at_a_seam_is_repaired(seam: str, warehouse: MartWarehouse) -> None:
    warehouse.publish()
    warehouse.publish(force=True)
    warehouse.build(T0 + MINUTE_MS)
    before = rows(served(warehouse), "from edition")
    process = next(_processes(warehouse, seam))
    assert process.wait(60) == -9
    assert rows(served(warehouse), "from edition") == before
    edition = warehouse.publish()
    assert edition is not None
    assert edition.edition_id > 2
    assert_same(warehouse)
