"""Publishes: the replica equals the warehouse, editions only rise, and readers are served whatever happens."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.publish.edition import REPLICAS
from orchestration.publish.publish import publish_locked
from orchestration.warehouse.writer import BLOCK_BYTES, PipelineError, WriterBusyError, connection
from tests.support.pipeline.marts import COINS, T0, MartWarehouse, assert_same, quiet, rows, served
from tests.support.pipeline.pipeline_home import polling_reader
from tests.support.pipeline.publishing import publishing


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
    assert set(current) == {"replica", "edition_id", "as_of_ms", "published_ms", "past_started_ms", "past_took_ms"}
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
    assert publish_locked(str(tmp_path / "none.duckdb"), tmp_path, tmp_path / "none.json", report=quiet) is None
    assert MartWarehouse(tmp_path).publish() is None


def test_an_interrupted_build_is_not_published(few: MartWarehouse) -> None:
    with duckdb.connect(few.path) as con:
        con.execute("insert into pipeline.window_minutes (tick_ms) values (1)")
    with pytest.raises(PipelineError, match="did not finish"):
        few.publish()


def test_other_columns_or_another_warehouse_refill_the_replica(warehouse: MartWarehouse) -> None:
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


def test_a_replica_of_a_former_version_with_other_blocks_is_filled_again(few: MartWarehouse) -> None:
    few.publish()
    few.publish(force=True)
    for name in REPLICAS:
        path, usual = few.serving / name, few.serving / f"usual_{name}"
        with duckdb.connect() as con:
            con.execute(f"attach '{path}' as replica; attach '{usual}' as usual; copy from database replica to usual")
            con.execute("update usual.publish_state set columns = replace(columns, ' 65536,', '')")
        usual.replace(path)
    assert block_bytes(few) == 262_144
    few.publish()
    assert block_bytes(few) == BLOCK_BYTES
    assert_same(few)


def block_bytes(warehouse: MartWarehouse) -> int:
    with duckdb.connect(str(served(warehouse)), read_only=True) as con:
        [(found,)] = con.execute("select block_size from pragma_database_size()").fetchall()
    return int(found)


def test_a_damaged_replica_is_made_from_scratch(few: MartWarehouse) -> None:
    few.publish()
    (few.serving / "replica_b.duckdb").write_bytes(b"no database" * 1000)
    few.build(T0 + MINUTE_MS)
    assert few.publish() is not None
    assert_same(few)


@pytest.mark.parametrize("damage", ["blocks", "cut", "gone"])
def test_a_served_replica_that_is_damaged_is_replaced_at_once(few: MartWarehouse, damage: str) -> None:
    """Nothing new has been built, and nobody need remove a file; an edition's number is not used twice."""
    few.publish()
    few.build(T0 + MINUTE_MS)
    few.publish()
    path = served(few)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:20_000] if damage == "cut" else content[:8192] + b"x" * (len(content) - 8192))
    edition = few.publish()
    assert edition is not None
    assert (edition.edition_id, edition.replica) == (3, "replica_a.duckdb")
    assert_same(few)
    few.build(T0 + 2 * MINUTE_MS)
    assert few.publish() is not None
    assert path == served(few)
    assert_same(few)


def test_the_served_edition_stays_while_the_warehouse_is_rebuilt(few: MartWarehouse) -> None:
    """An interrupted rebuild has only the oldest days; every minute's build continues it."""
    few.build(T0 + DAY_MS)
    few.publish()
    before = (few.serving / "current.json").read_text()
    few.write(f"delete from pipeline.builds where as_of_ms > {T0 + HOUR_MS}")
    said: list[str] = []
    assert publish_locked(few.path, few.serving, few.manifest, report=said.append) is None
    assert (few.serving / "current.json").read_text() == before
    assert "edition 1 stays" in said[-1]
    assert few.publish(force=True) is not None
    # A clock that was ahead left an edition of the future behind: it stays for nobody.
    ahead = time.time_ns() // 1_000_000 + DAY_MS
    few.write(f"update pipeline.builds set as_of_ms = {ahead}, finished_ms = 9")
    assert few.publish() is not None
    few.write(f"update pipeline.builds set as_of_ms = {T0}, finished_ms = 10")
    edition = few.publish()
    assert edition is not None
    assert edition.as_of_ms == T0


def test_the_other_replica_is_brought_up_to_date_without_being_served(few: MartWarehouse) -> None:
    few.build(T0)
    few.publish()
    few.publish(serve=False)
    few.build(T0 + MINUTE_MS)
    edition = few.publish()
    assert edition is not None
    other = few.serving / ("replica_a.duckdb" if edition.replica == "replica_b.duckdb" else "replica_b.duckdb")
    before = (few.serving / "current.json").read_text()
    states = "select build_id, (select edition_id from edition) from publish_state"
    assert rows(other, states) == [(few.builds - 1, edition.edition_id - 1)]
    few.publish(serve=False)
    assert (few.serving / "current.json").read_text() == before
    assert rows(other, states) == rows(served(few), states) == [(few.builds, edition.edition_id)]
    few.build(T0 + 2 * MINUTE_MS)
    following = few.publish()
    assert following is not None
    assert (following.edition_id, few.serving / following.replica) == (edition.edition_id + 1, other)
    assert_same(few)


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


def test_what_a_killed_publish_of_a_former_version_left_in_a_log_is_read(few: MartWarehouse) -> None:
    """This one writes no log beside a replica that it updates."""
    for minute in (1, 2, 3, 4):
        few.build(T0 + minute * MINUTE_MS)
        few.publish()
    later = few.serving / "replica_a.duckdb"
    with connection(str(later), checkpoint=False) as con:
        con.execute("create table logged as select 1 as n")
    assert later.with_name("replica_a.duckdb.wal").exists()
    few.build(T0 + 5 * MINUTE_MS)
    edition = few.publish()
    assert edition is not None
    assert edition.replica == later.name
    assert rows(served(few), "from logged") == [(1,)]
    assert_same(few)
    assert {file.suffix for file in few.serving.iterdir()} == {".duckdb", ".json"}


def test_a_reader_of_the_other_replica_makes_publish_wait_then_fail_clearly(few: MartWarehouse) -> None:
    few.publish()
    few.publish(force=True)
    few.build(T0 + MINUTE_MS)
    hold = "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(few.serving / "replica_a.duckdb")]
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert reader.stdout is not None
        reader.stdout.readline()
        before = (few.serving / "current.json").read_bytes()
        with pytest.raises(WriterBusyError, match=r"a reader still holds .*replica_a"):
            few.publish(reader_wait_s=0.2)
        assert (few.serving / "current.json").read_bytes() == before
    finally:
        reader.communicate()
    assert few.publish() is not None
    assert_same(few)


def test_killed_publishes_keep_serving_and_the_next_repairs(warehouse: MartWarehouse) -> None:
    """`kill -9` at random points while a reader polls: it never fails, editions rise, the end equals the warehouse."""
    warehouse.publish()
    chance = random.Random(5)
    with polling_reader(warehouse.serving) as seen:
        for minute in range(1, 25):
            process = publishing(warehouse.path, warehouse.serving, warehouse.manifest)
            process.join(chance.uniform(0.02, 0.4))
            process.kill()
            process.join()
            warehouse.build(T0 + minute * MINUTE_MS, late=((T0, COINS[minute % 8]),))
        assert warehouse.publish() is not None
    assert_same(warehouse)
    editions = [edition for edition, _ in seen]
    assert editions == sorted(editions)


@pytest.mark.parametrize(
    "seam",
    [
        "p.replica.copy_touched = lambda *a: os.kill(os.getpid(), 9)",
        "p.replica.note_touched = lambda *a: os.kill(os.getpid(), 9)",
        "p.replica.drop_old = lambda *a: os.kill(os.getpid(), 9)",
        "p.point_to = lambda *a: os.kill(os.getpid(), 9)",
        "Path.replace = lambda *a: os.kill(os.getpid(), 9)",
    ],
    ids=[
        "before the changes",
        "between the transactions",
        "after the changes",
        "before the pointer",
        "while the pointer flips",
    ],
)
def test_a_publish_that_dies_at_a_seam_is_repaired(seam: str, few: MartWarehouse) -> None:
    few.publish()
    few.publish(force=True)
    few.build(T0 + MINUTE_MS)
    before = rows(served(few), "from edition")
    process = publishing(few.path, few.serving, few.manifest, seam)
    process.join(60)
    assert process.exitcode == -9
    assert rows(served(few), "from edition") == before
    edition = few.publish()
    assert edition is not None
    assert edition.edition_id > 2
    assert_same(few)
