"""Models in Dagster, run by dagster-dbt's own resource: exactly the selected ones are built and tested."""

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg
import duckdb
import pytest

from orchestration.code_location.models import dbt_resource, hours_of, model_assets, read_manifest
from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse.restate import minutes_to_restate
from orchestration.warehouse.transform import build
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes, settings_for, tables
from tests.support.pipeline.warehouse import give_built

HOUR = f"{datetime.fromtimestamp(T0 / 1000, UTC):%Y-%m-%d-%H:00}"


def quiet(_: str) -> None:
    """No progress lines."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A home with three built minutes of one hour."""
    settings = settings_for(tmp_path_factory.mktemp("models"))
    give_dbt(settings)
    give_built(settings)
    land_minutes(settings, [T0, T0 + MINUTE, T0 + 2 * MINUTE])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.environ().items():
            patch.setenv(name, value)
        assert build(settings, report=quiet) is not None
        publish(settings, report=quiet)
        yield settings


@pytest.fixture(scope="module")
def models(settings: Settings) -> dg.AssetsDefinition:
    return model_assets(settings, read_manifest(settings))


def run(
    models: dg.AssetsDefinition, selection: dg.AssetSelection, partition: str | None = None
) -> tuple[set[str], ...]:
    """Materialize a selection; the assets that were materialized and the checks that were made."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [models], selection=selection, partition_key=partition, instance=instance,
            resources={"dbt": dbt_resource()},
        )  # fmt: skip
    made = {event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key}
    return made, {check.check_name for check in result.get_asset_check_evaluations()}


def damage(settings: Settings, *tables_: str) -> None:
    with duckdb.connect(settings.warehouse) as con:
        for table in tables_:
            con.execute(f"update {table} set price = 1")


def prices(settings: Settings, table: str) -> set[float]:
    return {row[0] for row in _rows(settings.warehouse, f"select distinct price from {table}")}


def _rows(database: str, query: str) -> list[tuple[float, ...]]:
    with duckdb.connect(database, read_only=True) as con:
        return con.execute(query).fetchall()


def test_an_hour_of_a_model_is_restated_and_nothing_else(settings: Settings, models: dg.AssetsDefinition) -> None:
    right = tables(settings.warehouse, ("series_market_1m", "series_market_5m"))
    damage(settings, "series_market_1m", "series_market_5m")
    with duckdb.connect(settings.warehouse) as con:
        loads = con.execute("from pipeline.loads order by all").fetchall()

    made, checks = run(models, dg.AssetSelection.assets("series_market_1m").without_checks(), HOUR)
    assert (made, checks) == ({"series_market_1m"}, set())
    assert tables(settings.warehouse, ("series_market_1m",))["series_market_1m"] == right["series_market_1m"]
    assert prices(settings, "series_market_5m") == {1}
    with duckdb.connect(settings.warehouse, read_only=True) as con:
        assert con.execute("from pipeline.loads order by all").fetchall() == loads
        assert con.execute("select count(*) from pipeline.window_minutes").fetchone() == (0,)

    # What was selected together is restated together, and the next publish copies it.
    both = dg.AssetSelection.assets("series_market_5m", "series_market_1m").without_checks()
    assert run(models, both, HOUR)[0] == {"series_market_1m", "series_market_5m"}
    edition = publish(settings, report=quiet)
    assert edition is not None
    assert tables(str(settings.serving / edition.replica), tuple(right)) == right


def test_a_model_without_partitions_is_built_from_the_newest_minute(
    settings: Settings, models: dg.AssetsDefinition
) -> None:
    right = tables(settings.warehouse, ("markets",))
    with duckdb.connect(settings.warehouse) as con:
        con.execute("delete from markets")
    made, checks = run(models, dg.AssetSelection.assets("markets"))
    assert made == {"markets"}
    assert checks == {check.name for check in models.check_specs if check.asset_key == dg.AssetKey("markets")} != set()
    assert tables(settings.warehouse, ("markets",)) == right


def test_a_view_and_a_seed_need_no_window(settings: Settings, models: dg.AssetsDefinition) -> None:
    seed = next(spec.key.to_user_string() for spec in models.specs if spec.group_name == "reference_data")
    with duckdb.connect(settings.warehouse) as con:
        con.execute("drop view stg_binance__funding")
        builds = con.execute("select count(*) from pipeline.builds").fetchone()
    selected = dg.AssetSelection.assets("stg_binance__funding", seed).without_checks()
    assert run(models, selected) == ({"stg_binance__funding", seed}, set())
    with duckdb.connect(settings.warehouse, read_only=True) as con:
        assert con.execute("select count(*) from stg_binance__funding").fetchone() is not None
        assert con.execute("select count(*) from pipeline.builds").fetchone() == builds


def test_selected_checks_run_without_their_models(models: dg.AssetsDefinition) -> None:
    key = next(check.key for check in models.check_specs if check.asset_key == dg.AssetKey("series_market_1m"))
    assert run(models, dg.AssetSelection.checks(key)) == (set(), {key.name})


def test_an_hour_that_was_never_built_is_refused(settings: Settings, models: dg.AssetsDefinition) -> None:
    with pytest.raises(dg.Failure, match=r"No minute of 2026-03-03 00:00 UTC to 2026-03-03 01:00 UTC is built"):
        run(models, dg.AssetSelection.assets("series_market_1m"), "2026-03-03-00:00")


def test_a_span_is_cut_into_windows_that_keep_no_minute_waiting(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestration.warehouse.restate.WINDOW_MINUTES", 2)
    assert minutes_to_restate(settings, (T0, T0 + 3 * MINUTE), quiet) == [[T0, T0 + MINUTE], [T0 + 2 * MINUTE]]
    assert minutes_to_restate(settings, (T0 + MINUTE, T0 + 2 * MINUTE), quiet) == [[T0 + MINUTE]]
    assert minutes_to_restate(settings, None, quiet) == [[T0 + 2 * MINUTE]]
    assert hours_of([T0, T0 + MINUTE, T0 + 60 * MINUTE]) == [HOUR, HOUR.replace("00:00", "01:00")]
