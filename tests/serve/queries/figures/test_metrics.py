"""The metrics with what a request for their series may say."""

import pytest

from serve.queries.figures.metrics import listed
from serve.replica.edition import Reader
from tests.support.replica.replica import CATALOG, TIERS


@pytest.mark.requirement("metrics:shape")
def test_a_metric_has_the_steps_from_its_finest_on(reader: Reader) -> None:
    content = listed(reader.edition.catalog)
    steps = [step for step, *_ in TIERS if step != "3d"]
    assert {one["metric"] for one in content["metrics"]} == set(CATALOG)
    for one in content["metrics"]:
        finest = CATALOG[one["metric"]].get("finest") or "1m"
        assert one["steps"] == steps[steps.index(finest) :], one["metric"]
