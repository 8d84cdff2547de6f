"""GET /api/methodology/{metric} on a small replica: definition, lineage, SQL, sources, tests."""

import pytest

from tests.support.replica.replica import AS_OF_MS, CATALOG
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH, OI = "/api/methodology/{metric}", "/api/methodology/oi"


@pytest.mark.requirement("methodology:shape")
def test_a_metric_has_its_definition_and_the_models_down_to_the_raw_rows(api: Api) -> None:
    got = as_described(api, PATH, OI)
    written = CATALOG["oi"]
    for name in ("title", "description", "unit", "formula", "caveats", "aliases", "version", "changes"):
        assert got[name] == written[name]
    assert got["changes"][0]["version"] == got["version"]
    assert (got["metric"], got["step"], got["fields"]) == ("oi", "1h", {"v": "oi_usd"})
    assert got["tables"] == {"base": "series_base_1h", "market": "series_market_1h", "venue": "series_venue_1h"}
    assert [(one["model"], one["layer"]) for one in got["models"]] == [
        ("series_base_1h", "marts"), ("series_market_1h", "marts"), ("series_venue_1h", "marts"),
        ("raw_window", "intermediate"), ("staged_instruments", "intermediate"), ("staged_market_state", "intermediate"),
        ("stg_binance__open_interest", "staging"), ("stg_bybit__instruments", "staging"),
        ("stg_bybit__perp_tickers", "staging"), ("symbols", "seeds"), ("landing.responses", "sources"),
    ]  # fmt: skip
    assert (got["source"], got["server_ts"]) == ("methodology@e1842", AS_OF_MS)


@pytest.mark.requirement("methodology:sql")
def test_models_have_the_sql_that_ran_and_sources_the_exchange_s_fields(api: Api) -> None:
    got = api.get(OI).json
    sql = {one["model"]: one["sql"] for one in got["models"] if one["sql"]}
    assert sql == {"series_base_1h": "select 1", "stg_binance__open_interest": "select 2", "raw_window": "select 3"}
    assert got["sources"][0] == {
        "model": "stg_binance__open_interest", "venue": "binance", "endpoints": ["open_interest"], "measures": True,
        "requests": ["GET https://fapi.binance.com/fapi/v1/openInterest"], "document": "https://example.org/open_interest",
        "fields": {"open_interest": "r.openInterest"},
    }  # fmt: skip
    assert [(one["model"], one["measures"]) for one in got["sources"][1:]] == [
        ("stg_bybit__instruments", False), ("stg_bybit__perp_tickers", True),
    ]  # fmt: skip


@pytest.mark.requirement("methodology:tests")
def test_the_tests_of_the_lineage_have_their_last_result(api: Api) -> None:
    tests = {one["test"]: one for one in api.get(OI).json["tests"]}
    assert {name: (one["kind"], one["status"], one["failures"]) for name, one in tests.items()} == {
        "sums_agree": ("test", "fail", 3), "unique_hours": ("test", "pass", 0), "halves": ("unit_test", None, None),
    }  # fmt: skip
    assert tests["unique_hours"]["column"] == "t"
    assert tests["sums_agree"]["tested_ms"] == AS_OF_MS - AS_OF_MS % 60_000
    assert tests["halves"]["tested_ms"] is None


@pytest.mark.requirement("methodology:selectors")
def test_step_and_venue_narrow_the_lineage_and_wrong_ones_are_refused(api: Api) -> None:
    of_bybit = api.get(f"{OI}?venue=bybit").json
    assert [one["model"] for one in of_bybit["sources"]] == ["stg_bybit__instruments", "stg_bybit__perp_tickers"]
    assert api.get("/api/methodology/open-interest").json["metric"] == "oi"
    minutes = api.get(f"{OI}?step=1m").json
    assert minutes["tables"]["base"] == "series_base_1m"
    assert minutes["models"] == []
    for path, said in (
        ("/api/methodology/io", "oi"),
        (f"{OI}?step=2h", "oi has the steps 1m, 5m, 15m, 1h, 4h, 1d"),
        ("/api/methodology/ob-depth?step=1m", "ob-depth has the steps 5m, 15m, 1h, 4h, 1d"),
        (f"{OI}?venue=upbit", "use one of binance"),
    ):
        answer = api.get(path)
        assert answer.status == 400
        assert said in answer.json["error"]
