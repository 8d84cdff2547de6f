"""GET /api/open-interest-acceleration on a small replica: rows, the smallest open interest, missing anchors."""

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/open-interest-acceleration"


@pytest.mark.requirement("oi-acceleration:unavailable")
def test_a_contract_has_its_acceleration_or_a_reason(api: Api) -> None:
    got = as_described(api, PATH)
    assert (got["evaluated_at_ms"], got["minimum"]) == (AS_OF_MS, 1_000_000)
    [row] = got["rows"]
    assert [row[name] for name in ("venue", "symbol", "base", "acceleration_pp", "oi_usd")] == [
        "binance", "BTCUSDT", "BTC", 10.0, 5e7,
    ]  # fmt: skip
    assert got["unavailable"] == [
        {"venue": "bybit", "symbol": "BTCUSDT", "base": "BTC", "reason": "missing_anchor"}
    ]  # fmt: skip
    assert got["venues"] == ["binance", "bybit", "hyperliquid"]


@pytest.mark.requirement("oi-acceleration:min-oi")
@pytest.mark.parametrize(("min_oi", "rows", "unavailable"), [("0", 1, 1), ("10000000", 1, 1), ("100000000", 0, 0)])
def test_contracts_below_the_smallest_open_interest_are_left_out(
    api: Api, min_oi: str, rows: int, unavailable: int
) -> None:
    got = as_described(api, PATH, f"{PATH}?min_oi={min_oi}")
    assert (got["minimum"], len(got["rows"]), len(got["unavailable"])) == (int(min_oi), rows, unavailable)


@pytest.mark.requirement("oi-acceleration:min-oi")
def test_another_smallest_open_interest_is_refused(api: Api) -> None:
    assert "use one of 0, 1000000, 10000000, 100000000" in api.get(f"{PATH}?min_oi=5").error
