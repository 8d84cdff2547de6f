"""options_summary: the figures of /api/options/{coin}, /iv and /smile in one result."""

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.servers.mcp_calls import Mcp, warned

POSITIONS = {"call_oi": 15.0, "put_oi": 12.0, "pcr_oi": 0.8, "pcr_vol": None, "notional_usd": 1.62e6}
AT_30_DAYS = {"atm_iv": 0.5, "call25_iv": 0.45, "put25_iv": 0.6, "rr25": -0.15, "fly25": 0.025}


@pytest.mark.requirement("mcp:options")
def test_a_summary_has_positions_and_volatilities_by_expiry(mcp: Mcp) -> None:
    got = mcp.call("options_summary", {"coin": "BTC"})
    data = got["data"]
    assert (data["coin"], data["venues"], "strikes" in data) == ("BTC", ["deribit", "okx"], False)
    assert data["summary"] == {"spot": 60_000.0, **POSITIONS, **AT_30_DAYS}
    near, far = data["expiries"]
    assert (near["expiry"], near["kind"], near["days"], near["max_pain"], near["partial"], near["atm_iv"]) == (
        "2026-06-16", "day", 1.0, None, True, None,
    )  # fmt: skip
    assert (far["expiry"], far["max_pain"], far["forward"], far["partial"]) == ("2026-07-15", 55_000.0, 60_100.0, False)
    assert {name: far[name] for name in (*POSITIONS, *AT_30_DAYS)} == {**POSITIONS, **AT_30_DAYS}
    assert got["coverage"]["available"] == {"start": AS_OF_MS - 300_000, "end": AS_OF_MS}
    # The newest snapshot is of an edition of long ago.
    assert (got["freshness"], warned(got)) == ("historical", ["stale"])


@pytest.mark.requirement("mcp:options")
def test_an_expiry_has_its_strikes(mcp: Mcp) -> None:
    data = mcp.call("options_summary", {"coin": "BTC", "expiry": "2026-07-15"})["data"]
    assert data["strikes"] == [
        {"strike": 50_000.0, "iv": 0.7, "call_oi": 1.0, "put_oi": 5.0, "call_volume": 2.0, "put_volume": None},
        {"strike": 60_000.0, "iv": 0.5, "call_oi": 9.0, "put_oi": 7.0, "call_volume": 2.0, "put_volume": None},
        {"strike": 75_000.0, "iv": None, "call_oi": 5.0, "put_oi": None, "call_volume": 2.0, "put_volume": None},
    ]
    assert mcp.call("options_summary", {"coin": "BTC", "expiry": "2026-06-16"})["data"]["strikes"] == []


@pytest.mark.requirement("mcp:options")
def test_what_is_not_listed_is_named(mcp: Mcp) -> None:
    error = mcp.wrong("options_summary", {"coin": "BTC", "expiry": "2026-07-16"})
    assert (error["data"]["argument"], error["data"]["nearest"]) == ("expiry", "2026-07-15")
    assert mcp.wrong("options_summary", {"coin": "SOL"})["data"]["allowed"] == "use one of BTC, ETH"
    # ETH has options, none of which is recorded here.
    got = mcp.call("options_summary", {"coin": "ETH"})
    assert (got["status"], got["data"]) == ("unavailable", None)
    assert "no options on ETH" in got["reason"]
