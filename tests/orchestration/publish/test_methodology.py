"""What a publish copies of how the numbers are made: models, the SQL that dbt ran, tests and their last results."""

from pathlib import Path

import duckdb

from orchestration.warehouse.compiled import note_compiled
from orchestration.warehouse.watermark import prepare
from tests.support.pipeline.marts import T0, MartWarehouse, rows, served

MINUTE = 60_000
SQL = "select model, sql from methodology_sql union all from methodology_window_sql order by 1"
TESTED = "select test, status, failures from methodology_results"


def ran(warehouse: MartWarehouse, model: str, sql: str) -> None:
    """The pipeline notes the SQL of a model that dbt ran."""
    folder = warehouse.manifest.parent / "compiled"
    file = folder / "tidemark/models/marts" / f"{model}.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(sql)
    with duckdb.connect(warehouse.path) as con:
        prepare(con)
        note_compiled(con, folder)


def test_an_edition_has_the_sql_and_the_test_results_of_its_build(few: MartWarehouse) -> None:
    ran(few, "series_base_1h", "select 1")
    ran(few, "raw_window", "from read_parquet(['/data/landing/responses/2026-03-04/1.2.parquet'])")
    assert few.publish()
    window = "from read_parquet(['responses/2026-03-04/1.2.parquet'])"
    assert rows(served(few), SQL) == [("raw_window", window), ("series_base_1h", "select 1")]
    assert rows(served(few), TESTED) == []
    for minute, (sql, status) in enumerate([("select 2", "pass"), ("select 3", "fail"), ("select 3", "fail")], 1):
        few.build(T0 + minute * MINUTE)
        ran(few, "series_base_1h", sql)
        with duckdb.connect(few.path) as con:
            con.execute("delete from pipeline.test_results where test = 'sums'")
            con.execute(f"insert into pipeline.test_results values ('sums', '{status}', 2, '', {minute})")
        assert few.publish()
        assert rows(served(few), SQL)[1] == ("series_base_1h", sql)
        assert rows(served(few), TESTED) == [("sums", status, 2)]


def test_a_project_that_was_parsed_again_has_its_new_models(few: MartWarehouse) -> None:
    assert few.publish()
    names = "select count(*) > 3, bool_and(layer is not null) from methodology_models where model like 'series%'"
    assert rows(served(few), names) == [(True, True)]
    described = "select description from methodology_columns where model = 'market_index' and column_name = 'first_ms'"
    assert rows(served(few), described) == [("First recorded minute, or first day of its history, UTC epoch ms.",)]
    few.models = ["market_index", "premiums"]
    few.define({"price": {"title": "Price"}})
    few.build(T0 + MINUTE)
    assert few.publish()
    assert rows(served(few), "select model from methodology_models order by 1") == [("market_index",), ("premiums",)]


def test_a_warehouse_without_results_is_published(few: MartWarehouse, tmp_path: Path) -> None:
    """The table comes with the next build."""
    with duckdb.connect(few.path) as con:
        con.execute("drop table pipeline.test_results")
        con.execute("drop table if exists pipeline.compiled")
    assert few.publish()
    assert rows(served(few), TESTED) == []
