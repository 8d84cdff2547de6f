"""Endpoints of what is modelled: options, and the liquidation map's scores, against rows that follow by hand."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.replica.replica_snapshots import DAY, MINUTE
from tests.support.servers.api_server import Api, free_port, running

OPTIONS, IV = "/api/options/btc", "/api/options/BTC/iv"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    serving = tmp_path_factory.mktemp("models") / "serving"
    publish(serving, 7, max_days=1)
    with running(serving, free_port()) as api:
        yield api


@pytest.mark.requirement("options:shape")
def test_options(api: Api) -> None:
    content = api.get(OPTIONS).json
    held = {"call_oi": 15.0, "put_oi": 12.0, "pcr_oi": 0.8, "pcr_vol": None, "notional_usd": 1.62e6}
    assert content == {
        "coin": "BTC", "as_of": AS_OF_MS - 5 * MINUTE, "stale": True, "venues": ["deribit", "okx"],
        "source": "option_expiries@e7", "spot": 60_000.0, "totals": held, "partial_expiries": ["2026-06-16"],
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


VALIDATION = "/api/heatmap-validation"


@pytest.mark.requirement("heatmap:shape")
def test_heatmap_validation(api: Api) -> None:
    content = api.get(VALIDATION).json
    day = AS_OF_MS // DAY * DAY - 2 * DAY
    rates = {"rho_model": 0.5, "rho_base": 0.4, "hit_model": 0.3, "hit_base": 0.1}
    assert content["horizons_h"] == [4, 24]
    assert content["sample"] == {"4": 31, "24": 31}
    assert content["overall"] == {"4": {**rates, "verdict": "better"}, "24": {**rates, "verdict": "worse"}}
    assert (content["from"], content["to"], content["as_of"]) == (day - 5 * DAY, day + DAY, day + DAY)
    assert (content["window"], content["venue"], content["min_scored"]) == ("90d", "binance", 30)
    # The median of the days' medians; a map of the day after the judged one does not count yet.
    assert content["coins"] == {
        "BTC": {
            "4": {
                "rho_model": pytest.approx(0.6),
                "daily": [
                    {"day": "2026-06-12", "rho_model": 0.9},
                    {"day": "2026-06-13", "rho_model": pytest.approx(0.3)},
                ],
            },
            "24": {"rho_model": 0.1, "daily": [{"day": "2026-06-13", "rho_model": 0.1}]},
        },
        "ETH": {"4": {"rho_model": -0.5, "daily": [{"day": "2026-06-13", "rho_model": -0.5}]}},
    }
    assert content["n_coins"] == 2
    assert api.get(f"{VALIDATION}?window=7d").status == 400


@pytest.mark.requirement("heatmap:unavailable")
def test_before_the_first_verdict(tmp_path: Path) -> None:
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from heatmap_verdicts")
    with running(tmp_path / "serving", free_port()) as api:
        answer = api.get(VALIDATION)
        assert (answer.status, answer.json["state"]) == (503, "loading")
        assert int(answer.headers["retry-after"]) > 0
