"""The job that builds again what an earlier version built, and its sensor."""

from types import ModuleType

import dagster as dg
import pytest

from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse import upgrade
from orchestration.warehouse.transform import build
from orchestration.warehouse.writer import connection
from tests.support.pipeline.landed import quiet
from tests.support.pipeline.pipeline_home import MINUTE, T0, land_minutes

DAY = 86_400_000


def test_days_are_built_again_by_a_job_that_its_sensor_starts_once(
    definitions: ModuleType, settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated() -> dg.RunRequest | dg.SkipReason:
        with dg.build_sensor_context(instance=instance) as context:
            return definitions.days_to_rebuild(context)  # type: ignore[no-any-return]

    land_minutes(settings, (T0, T0 + MINUTE))
    build(settings, report=quiet)
    publish(settings, force=True, report=quiet)
    assert isinstance(evaluated(), dg.SkipReason)
    with connection(settings.warehouse) as con:
        con.execute("update int_market_minutes set oi_usd = -1 where minute_ms = ?", [T0])
        con.execute(
            "insert into pipeline.upgrade_days values (?, ?, ?, ?, ['int_market_minutes'], '0.1.0', ?, null, null)",
            [T0, T0, T0, T0 + DAY, T0],
        )
    publish(settings, force=True, report=quiet)
    assert isinstance(evaluated(), dg.RunRequest)
    job = definitions.defs.resolve_job_def("upgrade")
    run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert isinstance(evaluated(), dg.SkipReason)
    instance.report_run_failed(run)
    # Its windows need not wait for the second half of a minute here.
    monkeypatch.setattr(upgrade, "AFTER_MINUTE_S", 0)
    monkeypatch.setattr(upgrade, "LEAST_S", 0)
    assert job.execute_in_process(instance=instance).success
    with connection(settings.warehouse) as con:
        assert con.execute("select count(*) from int_market_minutes where oi_usd < 0").fetchall() == [(0,)]
        assert upgrade.days_left(con) == 0
    publish(settings, force=True, report=quiet)
    assert isinstance(evaluated(), dg.SkipReason)
