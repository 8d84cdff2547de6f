"""The check of the landing's freshness, as Dagster shows it."""

from orchestration.code_location.checks import freshness_check
from orchestration.code_location.lineage import LANDING
from orchestration.code_location.upkeep import UPKEEP
from orchestration.config.settings import Settings


def test_the_landing_has_a_check_that_keeps_no_minute_waiting(settings: Settings) -> None:
    check = freshness_check(settings)
    [key] = check.check_keys
    assert (key.asset_key, key.name) == (LANDING, "recorder_is_alive")
    assert check.op.pool == UPKEEP
    [spec] = check.check_specs
    assert spec.description
