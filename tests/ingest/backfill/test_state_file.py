"""The files in which a backfill stores what it has fetched: a statement is kept as soon as it is executed."""

from pathlib import Path

from ingest.backfill.state_file import open_state


def test_each_statement_is_kept_and_read_beside_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "below" / "state.sqlite"
    writer = open_state(path, "fetched (name text primary key)")
    writer.execute("insert into fetched values ('one')")
    reader = open_state(path, "fetched (name text primary key)")
    writer.execute("begin")
    writer.execute("insert into fetched values ('two')")
    assert reader.execute("select name from fetched").fetchall() == [("one",)]
    writer.close()  # as a kill leaves it: the transaction did not end
    assert reader.execute("select name from fetched").fetchall() == [("one",)]
    reader.close()
