"""What endpoints return without data and without a replica: 503 with a state, or an empty body that says so."""

from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish, write_pointer
from tests.support.replica.replica_statistics import DAY, date
from tests.support.servers.api_server import Api, free_port, running, until

PERCENTILES, PERSISTENCE = "/api/funding-percentiles", "/api/funding-persistence"
SEASON, GREED, SPIKES = "/api/altcoin-season", "/api/derivatives-fear-greed", "/api/spike-stats"
TODAY = AS_OF_MS - AS_OF_MS % DAY
KIMCHI, COINBASE = "/api/kimchi-premium/history?base=BTC", "/api/coinbase-premium/history?base=BTC"
LOADING = ("/api/order-book-depth", "/api/perp-dex-ranking", "/api/new-listings")
DB_FALSE = (KIMCHI, COINBASE, "/api/hyperliquid/liquidations")


@pytest.mark.requirement("depth:unavailable", "dex:unavailable", "listings:unavailable", "kimchi:empty")
def test_snapshots_and_premiums_without_data(tmp_path: Path) -> None:
    """Tables without rows are still loading; books that are all too old are unavailable. Never an empty 200."""
    path = publish(tmp_path / "serving", 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("delete from listings; delete from venue_totals; update order_book_depth set book_ms = 0")
        con.execute("delete from premiums")
    with running(tmp_path / "serving", free_port()) as api:
        for path_of, state in zip(LOADING, ("unavailable", "loading", "loading"), strict=True):
            answer = api.get(path_of)
            assert (answer.status, answer.json["state"]) == (503, state), path_of
            assert answer.error
            assert int(answer.headers["retry-after"]) > 0
        empty = api.get(KIMCHI).json
        assert (empty["t"], empty["upbit"], "db" in empty) == ([], [], False)


@pytest.mark.requirement("depth:unavailable", "dex:unavailable", "listings:unavailable", "kimchi:db", "wallets:db")
def test_snapshots_and_premiums_without_a_replica(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    with running(serving, free_port()) as api:
        _nothing_readable(api, "loading", None)
        for wrong in ("/api/coinbase-premium/history?base=SOL", f"{KIMCHI}&range=11y"):
            assert api.get(wrong).status == 400
        write_pointer(serving, "{")
        until(lambda: api.get(LOADING[0]).json["state"], lambda state: state == "unavailable")
        _nothing_readable(api, "unavailable", "unavailable")


def _nothing_readable(api: Api, state: str, error: str | None) -> None:
    for path in LOADING:
        answer = api.get(path)
        assert (answer.status, answer.json["state"]) == (503, state), path
        assert int(answer.headers["retry-after"]) > 0
    for path in DB_FALSE:
        answer = api.get(path)
        assert (answer.status, answer.json["db"], answer.json.get("error")) == (200, False, error), path
        assert answer.json.get("hourly", answer.json)["t"] == []
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.requirement("statistics:unavailable", "fear-greed:db", "statistics:empty")
def test_statistics_and_indices_without_data(tmp_path: Path) -> None:
    """Tables without rows: universes are empty, indices without a day are loading. Without a replica: 503."""
    serving = tmp_path / "serving"
    path = publish(serving, 1, max_days=1)
    tables = ("funding_percentiles", "funding_persistence", "altcoin_season", "fear_greed", "spike_stats", "spikes")
    with duckdb.connect(str(path)) as con:
        con.execute(";".join(f"delete from {table}" for table in tables))
    with running(serving, free_port()) as api:
        assert api.get(PERCENTILES).json["state"] == "empty"
        assert api.get(PERSISTENCE).json["data_state"] == "empty"
        greed = api.get(GREED).json
        assert (greed["days"], "db" in greed) == ([], False)
        assert greed["today"] == {"date": date(TODAY), "value": None, "provisional": True}
        for path_of in (SEASON, SPIKES):
            answer = api.get(path_of)
            assert (answer.status, answer.json["state"]) == (503, "loading"), path_of
            assert int(answer.headers["retry-after"]) > 0
        assert api.get(f"{SPIKES}/BTC").status == 404
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    with running(nothing, free_port(), now_ms=AS_OF_MS) as api:
        for state in ("loading", "unavailable"):
            for path_of in (PERCENTILES, PERSISTENCE, SEASON, SPIKES, f"{SPIKES}/BTC"):
                answer = api.get(path_of)
                assert (answer.status, answer.json["state"]) == (503, state), path_of
                assert int(answer.headers["retry-after"]) > 0
            answer = api.get(GREED)
            assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
            assert (answer.json["db"], answer.json.get("error"), answer.json["days"]) == (
                False, True if state == "unavailable" else None, [],
            )  # fmt: skip
            assert answer.json["today"]["date"] == date(AS_OF_MS)
            write_pointer(nothing, "{")
            until(lambda: api.get(SEASON).json["state"], lambda found: found == "unavailable")
