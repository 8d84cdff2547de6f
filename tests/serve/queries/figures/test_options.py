"""A coin's options by expiry and strike."""

import pytest

from serve.queries.figures.options import of_coin, read_expiries, read_strikes
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable
from tests.support.replica.replica import AS_OF_MS, DAY


@pytest.mark.requirement("options:smile")
def test_expiries_and_strikes_are_in_order(reader: Reader) -> None:
    row, common = of_coin("BTC", reader)
    assert (row["spot"], common["venues"], common["stale"]) == (60_000.0, ["deribit", "okx"], True)
    expiries = read_expiries("BTC", reader, "days")
    assert [(one["expiry"], one["days"]) for one in expiries] == [("2026-06-16", 1.0), ("2026-07-15", 30.0)]
    strikes = read_strikes("BTC", reader, AS_OF_MS + 30 * DAY)
    assert [one["strike"] for one in strikes] == [50_000.0, 60_000.0, 75_000.0]
    with pytest.raises(Unavailable, match="no options on ETH"):
        of_coin("ETH", reader)
