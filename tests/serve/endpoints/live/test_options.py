"""GET /api/options/{coin} and /iv, against rows that follow by hand."""

from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.replica.replica_snapshots import DAY, MINUTE
from tests.support.servers.api_server import Api, free_port, running

OPTIONS, IV = "/api/options/btc", "/api/options/BTC/iv"


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


@pytest.mark.requirement("options:coin", "options:unavailable")
def test_coins_without_options(api: Api) -> None:
    for path in ("/api/options/doge", "/api/options/doge/iv"):
        answer = api.get(path)
        assert (answer.status, answer.json) == (404, {"error": "unknown coin"})
    for path in ("/api/options/eth", "/api/options/ETH/iv"):
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
        for path_of in (OPTIONS, IV):
            answer = api.get(path_of)
            assert answer.json["stale"] is False
            assert answer.headers["cache-control"] == "no-store"
