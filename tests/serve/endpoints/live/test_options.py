"""GET /api/options/{coin}, /iv and /smile, against rows that follow by hand."""

from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.replica.replica_snapshots import DAY, MINUTE
from tests.support.servers.api_server import Api, free_port, running

OPTIONS, IV, SMILE = "/api/options/btc", "/api/options/BTC/iv", "/api/options/btc/smile"


@pytest.mark.requirement("options:shape")
def test_options(api: Api) -> None:
    content = api.get(OPTIONS).json
    held = {"call_oi": 15.0, "put_oi": 12.0, "pcr_oi": 0.8, "pcr_vol": None, "notional_usd": 1.62e6}
    assert content == {
        "coin": "BTC", "as_of": AS_OF_MS - 5 * MINUTE, "stale": True, "venues": ["deribit", "okx"],
        "source": "option_expiries@e1842", "spot": 60_000.0, "totals": held, "partial_expiries": ["2026-06-16"],
        "expiries": [
            {"expiry": "2026-06-16", "expiry_ms": AS_OF_MS + DAY, "kind": "day", "max_pain": None,
             "max_pain_by_venue": {}, **held},
            {"expiry": "2026-07-15", "expiry_ms": AS_OF_MS + 30 * DAY, "kind": "quarter", "max_pain": 55_000.0,
             "max_pain_by_venue": {"deribit": 55_000.0}, **held},
        ],
    }  # fmt: skip


@pytest.mark.requirement("options:iv")
def test_volatilities(api: Api) -> None:
    content = api.get(IV).json
    assert content["cm_30d"] == {"atm_iv": 0.5, "call25_iv": 0.45, "put25_iv": 0.6, "rr25": -0.15, "fly25": 0.025}
    assert content["expiries"] == [
        {"expiry": "2026-07-15", "expiry_ms": AS_OF_MS + 30 * DAY, "days": 30.0, "forward": 60_100.0,
         **content["cm_30d"], "atm_iv_by_venue": {"deribit": 0.5}}
    ]  # fmt: skip
    assert content["excluded"] == [
        {"expiry": "2026-06-16", "venue": "okx", "reason": "no_forward"},
        {"expiry": "2026-07-15", "venue": "okx", "reason": "deltas_not_listed"},
    ]


@pytest.mark.requirement("options:smile")
def test_a_smile_strike_by_strike(api: Api) -> None:
    content = api.get(SMILE).json
    common = {"venues": ["deribit", "okx"], "call_volume": 2.0, "put_volume": None}
    assert content == {
        "coin": "BTC", "as_of": AS_OF_MS - 5 * MINUTE, "stale": True, "venues": ["deribit", "okx"], "spot": 60_000.0,
        "expiry": "2026-07-15", "expiry_ms": AS_OF_MS + 30 * DAY, "days": 30.0, "forward": 60_100.0, "atm_iv": 0.5,
        "expiries": ["2026-06-16", "2026-07-15"], "source": "option_strikes@e1842",
        "strikes": [
            {"strike": 50_000.0, "iv": 0.7, "iv_by_venue": {"deribit": 0.7}, "call_oi": 1.0, "put_oi": 5.0,
             "partial": False, **common},
            {"strike": 60_000.0, "iv": 0.5, "iv_by_venue": {"deribit": 0.5}, "call_oi": 9.0, "put_oi": 7.0,
             "partial": False, **common},
            {"strike": 75_000.0, "iv": None, "iv_by_venue": {}, "call_oi": 5.0, "put_oi": None,
             "partial": True, **common},
        ],
    }  # fmt: skip
    assert api.get(f"{SMILE}?expiry=2026-07-15").json == content
    tomorrow = api.get(f"{SMILE}?expiry=2026-06-16").json
    assert (tomorrow["expiry"], tomorrow["days"], tomorrow["atm_iv"], tomorrow["strikes"]) == (
        "2026-06-16",
        1.0,
        None,
        [],
    )


@pytest.mark.requirement("options:smile")
def test_an_expiry_that_is_not_listed_is_named_with_those_that_are(api: Api) -> None:
    answer = api.get(f"{SMILE}?expiry=2026-07-16")
    assert answer.status == 400
    assert answer.json["error"] == (
        "expiry: '2026-07-16' is not valid; use one of 2026-06-16, 2026-07-15; did you mean '2026-07-15'?"
    )
    answer = api.get(f"{SMILE}?expiry=15JUL26")
    assert (answer.status, answer.json["error"]) == (400, "expiry: '15JUL26' is not valid; use a day as YYYY-MM-DD")


@pytest.mark.requirement("options:coin", "options:unavailable")
def test_coins_without_options(api: Api) -> None:
    for path in ("/api/options/doge", "/api/options/doge/iv", "/api/options/doge/smile"):
        answer = api.get(path)
        assert (answer.status, answer.json) == (404, {"error": "unknown coin"})
    for path in ("/api/options/eth", "/api/options/ETH/iv", "/api/options/eth/smile"):
        answer = api.get(path)
        assert (answer.status, answer.json["state"]) == (503, "loading")
        assert int(answer.headers["retry-after"]) > 0
    assert api.get(f"{OPTIONS}?coin=eth").status == 400


@pytest.mark.requirement("options:stale")
def test_options_are_stale_after_twenty_minutes(tmp_path: Path) -> None:
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("update option_coins set as_of_ms = ?", [AS_OF_MS - 19 * MINUTE])
    with running(tmp_path / "serving", free_port(), now_ms=AS_OF_MS) as api:
        for path_of in (OPTIONS, IV, SMILE):
            answer = api.get(path_of)
            assert answer.json["stale"] is False
            assert answer.headers["cache-control"] == "no-store"
