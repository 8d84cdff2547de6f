"""The pointer to the served replica: read, found again where it is damaged, and written at once."""

from pathlib import Path

import duckdb

from orchestration.config.clock import MINUTE_MS
from orchestration.publish.edition import POINTER, Edition, newest_replica, point_to, read_current
from tests.support.pipeline.marts import T0, MartWarehouse, assert_same, served


def test_an_unreadable_pointer_is_replaced(few: MartWarehouse) -> None:
    """Readers may still have the newest replica open: it stays as it is."""
    few.publish()
    few.build(T0 + MINUTE_MS)
    few.publish()
    for edition_id, content in enumerate(("", "{}", "[]", "7", '{"replica": "replica_a.duckdb"}'), 3):
        newest = served(few)
        (few.serving / "current.json").write_text(content)
        with duckdb.connect(str(newest), read_only=True):
            edition = few.publish()
        assert edition is not None, content
        assert edition.edition_id == edition_id, content
        assert edition.replica == f"replica_{'ab'[(edition_id - 1) % 2]}.duckdb" != newest.name, content
        assert_same(few)


def test_a_lost_pointer_is_found_again_in_the_newest_replica(few: MartWarehouse) -> None:
    few.publish()
    few.publish(force=True)
    pointer = read_current(few.serving)
    assert pointer is not None
    (few.serving / "current.json").unlink()
    assert read_current(few.serving) is None
    assert newest_replica(few.serving) == {name: pointer[name] for name in POINTER}
    (few.serving / "replica_b.duckdb").write_bytes(b"no database" * 1000)
    older = newest_replica(few.serving)
    assert older is not None
    assert (older["replica"], older["edition_id"]) == ("replica_a.duckdb", 1)


def test_the_pointer_is_written_whole_and_says_what_readers_need(tmp_path: Path) -> None:
    past = {"past_started_ms": 500, "past_took_ms": 70}
    edition = Edition(7, 1_000, 2_000, None, build_id=3, replica="replica_b.duckdb", **past)
    assert newest_replica(tmp_path) is read_current(tmp_path) is None
    point_to(tmp_path, edition)
    assert [file.name for file in tmp_path.iterdir()] == ["current.json"]
    assert read_current(tmp_path) == {
        "replica": "replica_b.duckdb", "edition_id": 7, "as_of_ms": 1_000, "published_ms": 2_000,
        **past,
    }  # fmt: skip
