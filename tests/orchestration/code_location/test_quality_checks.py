"""The data quality checks in Dagster: one asset check each, on an asset that exists, by the schedule of its period."""

from types import ModuleType

import pytest

from orchestration.code_location.quality_checks import CRONS, quality_checks, quality_schedule, report_asset, report_url
from orchestration.config.settings import Settings
from orchestration.quality.suites import PERIODS, Period, checks_of


@pytest.mark.parametrize("period", PERIODS)
def test_each_check_is_an_asset_check(settings: Settings, definitions: ModuleType, period: Period) -> None:
    made = quality_checks(settings, period)
    assert {(key.name, tuple(key.asset_key.path)) for key in made.check_keys} == {
        (check.name, tuple(check.asset)) for check in checks_of(period)
    }
    assets = definitions.defs.resolve_asset_graph().get_all_asset_keys()
    assert {key.asset_key for key in made.check_keys} <= assets
    schedule = quality_schedule(made, period)
    assert (schedule.cron_schedule, schedule.job_name) == (CRONS[period], f"quality_{period}")


def test_the_report_depends_on_all_that_is_checked(settings: Settings) -> None:
    checked = {tuple(check.asset) for period in PERIODS for check in checks_of(period)}
    assert {tuple(dep.asset_key.path) for dep in report_asset(settings).deps} == checked
    assert report_url(settings, "page.html").startswith(f"http://127.0.0.1:{settings.api_port}/quality/")
