"""The SQL that dbt ran, in the warehouse."""

from pathlib import Path

import duckdb

from orchestration.warehouse.compiled import note_compiled
from orchestration.warehouse.watermark import prepare

NAMES = "from read_parquet(['{}responses/2026-03-04/1.2.parquet'])"


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    """Without the folder of the landing, and without the SQL of tests; a model that is gone goes."""
    marts = tmp_path / "compiled/tidemark/models/marts"
    (marts / "_series.yml").mkdir(parents=True)
    (marts / "_series.yml/unique_key_series.sql").write_text("select 0")
    (marts / "series.sql").write_text("select 1")
    (marts / "raw_window.sql").write_text(NAMES.format("/data/landing/"))
    (marts / "smiles.py").write_text("def model(): ...")
    with duckdb.connect() as con:
        prepare(con)

        def noted() -> list[tuple[str, str]]:
            note_compiled(con, tmp_path / "compiled")
            return con.execute("select model, sql from pipeline.compiled order by 1").fetchall()

        first = [("raw_window", NAMES.format("")), ("series", "select 1"), ("smiles", "def model(): ...")]
        assert noted() == first
        before = con.execute("select rowid from pipeline.compiled where model = 'raw_window'").fetchall()
        (marts / "series.sql").write_text("select 'it''s'")
        (marts / "smiles.py").unlink()
        assert noted() == [first[0], ("series", "select 'it''s'")]
        assert con.execute("select rowid from pipeline.compiled where model = 'raw_window'").fetchall() == before
        (marts / "series.sql").unlink()
        (marts / "raw_window.sql").unlink()
        assert noted() == []
