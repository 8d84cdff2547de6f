"""Checks of the minutes: each injected fault is named with venue, market and value, and marked; nothing else is."""

import pytest

from tests.support.pipeline.quality_faults import MINUTE_FAULTS, Outcomes, assert_reported_and_marked
from tests.support.pipeline.quality_home import MINUTE, QualityHome


@pytest.mark.parametrize("fault", MINUTE_FAULTS)
def test_a_fault_in_the_minutes_is_named_and_marked(minutes: tuple[QualityHome, Outcomes], fault: str) -> None:
    _, check, venue, market, value, expected = MINUTE_FAULTS[fault]
    assert_reported_and_marked(*minutes, check, venue, market, value, expected)


def test_only_wrong_rows_are_marked(minutes: tuple[QualityHome, Outcomes]) -> None:
    home, failed = minutes
    prices = [row for row in home.suspects() if row["check"] == "venues_agree_on_prices"]
    assert [(row["market_id"], row["to_ms"] - row["from_ms"]) for row in prices] == [("bybit:perp:ETHUSDT", 5 * MINUTE)]
    assert failed["venues_agree_on_prices"]["words"].startswith("bybit:perp:ETHUSDT: ")
