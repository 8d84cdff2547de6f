"""The pointer to the served replica: read, found again where it is damaged, and written at once."""

import duckdb

from orchestration.warehouse.served import MINUTE_MS
from tests.support.pipeline.marts import T0, MartWarehouse, assert_same, served


def test_a_pointer_that_says_nothing_is_written_anew(warehouse: MartWarehouse) -> None:
    """Readers may still have the newest replica open: it stays as it is."""
    warehouse.publish()
    warehouse.build(T0 + MINUTE_MS)
    warehouse.publish()
    for edition_id, content in enumerate(("", "{}", "[]", "7", '{"replica": "replica_a.duckdb"}'), 3):
        newest = served(warehouse)
        (warehouse.serving / "current.json").write_text(content)
        with duckdb.connect(str(newest), read_only=True):
            edition = warehouse.publish()
        assert edition is not None, content
        assert edition.edition_id == edition_id, content
        assert edition.replica == f"replica_{'ab'[(edition_id - 1) % 2]}.duckdb" != newest.name, content
        assert_same(warehouse)
