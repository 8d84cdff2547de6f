"""GET /api/status: health, lags, venues, and the progress of the backfill; without a replica too."""

import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ingest.backfill.progress import BackfillState
from ingest.landing.rows import Row
from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE, publish, write_pointer
from tests.support.servers.api_server import Api, free_port, running, until


@pytest.mark.requirement("markets:unavailable", "status:unhealthy")
def test_without_a_replica(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    with running(serving, free_port()) as api:
        answer = api.get("/api/markets")
        assert (answer.status, answer.json["state"]) == (503, "loading")
        assert int(answer.headers["retry-after"]) > 0
        status = api.get("/api/status").json
        assert (status["state"], status["db"], status["venues"], status["edition"]) == ("unhealthy", False, [], None)
        write_pointer(serving, "{")
        until(lambda: api.get("/api/markets").json["state"], lambda state: state == "unavailable")
        assert api.get("/openapi.json").status == api.get("/").status == 200


@pytest.mark.requirement("status:shape", "status:unhealthy")
@pytest.mark.parametrize(("age_ms", "state"), [(20_000, "healthy"), (4 * MINUTE, "unhealthy")])
def test_status(tmp_path: Path, age_ms: int, state: str) -> None:
    serving = tmp_path / "serving"
    as_of = AS_OF_MS
    publish(serving, 12, as_of, max_days=1)
    with running(serving, free_port(), now_ms=as_of + age_ms) as api:
        status = api.get("/api/status").json
        assert (status["state"], status["edition"], status["as_of"]) == (state, 12, as_of)
        assert status["age_s"] == age_ms / 1000
        assert status["build_lag_s"] == 5.0
        assert status["recorder_lag_s"] >= status["age_s"]
        venues = {venue["venue"]: venue for venue in status["venues"]}
        assert set(venues) == {"binance", "bybit", "hyperliquid"}
        minute = as_of - as_of % MINUTE
        assert (venues["binance"]["last_good_ms"], venues["binance"]["last_error"]) == (minute, None)
        assert (venues["bybit"]["last_good_ms"], venues["bybit"]["last_error"]) == (
            minute - 5 * MINUTE,
            "503 Service Unavailable",
        )
        assert (venues["binance"]["state"], venues["binance"]["reason"]) == ("ok", None)
        missing = "perp_tickers: 249 of 250 perp markets without price since 2026-06-15 12:34 UTC"
        reason = f"{missing}, although the venue lists them"
        assert (venues["bybit"]["state"], venues["bybit"]["reason"]) == ("partial", reason)


@pytest.mark.requirement("status:shape")
def test_status_reports_the_progress_of_the_backfill(tmp_path: Path) -> None:
    """Of each venue and kind, also before the first edition; null where nothing was ever fetched."""
    serving = tmp_path / "serving"
    serving.mkdir()
    progress_file = serving / "backfill.json"
    history = BackfillState(1, AS_OF_MS, path=tmp_path / "state.json", copy=progress_file)
    with running(serving, free_port()) as api:
        assert api.get("/api/status").json["backfill"] is None
        history.expect("binance", [("perp_bars_1d", 4 * DAY), ("settlements", 4 * DAY)])
        row = Row(0, "binance", "", "", "", 200, 0, 0, 1, None, "12345")
        history.record_progress("binance", "perp_bars_1d", 3, 3 * DAY, row)
        history.fail("binance", "settlements BTCUSDT: HTTP 503", AS_OF_MS + 1)
        history.give_up("binance", "settlements", "BTCUSDT", (AS_OF_MS - 4 * DAY, AS_OF_MS))
        history.note_absent("binance", "metrics_history", "BTCUSDT", "2026-06-01", missing=True)
        history.write()
        status = api.get("/api/status").json
        found = status["backfill"]
        assert (found["state"], found["started_ms"], found["finished_ms"]) == ("running", AS_OF_MS, None)
        assert (found["share"], found["rows"], found["body_bytes"], found["failed"]) == (0.375, 3, 5, 1)
        venue = found["venues"]["binance"]
        assert (venue["last_error"], venue["last_error_ms"]) == ("settlements BTCUSDT: HTTP 503", AS_OF_MS + 1)
        assert [venue["kinds"][kind]["share"] for kind in ("perp_bars_1d", "settlements")] == [0.75, 0.0]
        assert venue["kinds"]["settlements"]["failed"] == 1
        assert found["failed_spans"] == [
            "binance settlements BTCUSDT from 2026-06-11 12:34:56Z to 2026-06-15 12:34:56Z"
        ]
        assert found["absent_files"]["binance metrics_history"]["days"] == ["BTCUSDT 2026-06-01"]
        schema = api.get("/openapi.json").json["paths"]["/api/status"]["get"]["responses"]["200"]
        Draft202012Validator(schema["content"]["application/json"]["schema"]).validate(status)
        publish(serving, 12, max_days=1)
        assert until(lambda: api.get("/api/status").json, lambda status: status["edition"] == 12)["backfill"] == found
        # It writes at least once a minute while it works: this one was killed.
        os.utime(progress_file, (AS_OF_MS / 1000, AS_OF_MS / 1000))

        def backfill() -> Any:
            return api.get("/api/status").json["backfill"]

        until(backfill, lambda found: found["state"] == "stopped")
        history.end(AS_OF_MS + MINUTE, stopped=False)
        found = until(backfill, lambda found: found["state"] != "stopped")
        assert (found["state"], found["finished_ms"]) == ("partly", AS_OF_MS + MINUTE)
        progress_file.write_text("{")
        until(backfill, lambda found: found is None)


@pytest.mark.requirement("status:quarantine")
def test_responses_in_quarantine_are_counted_by_venue_and_dropped_ones_are_not(api: Api) -> None:
    [held] = api.get("/api/status").json["quarantine"]
    assert {name: held[name] for name in ("venue", "bodies", "endpoint", "error")} == {
        "venue": "kucoin", "bodies": 2, "endpoint": "perp_bars", "error": "Conversion Error: ETH",
    }  # fmt: skip
    assert held["last_ms"] % 60_000 == 0


@pytest.mark.requirement("status:upgrade")
def test_days_that_are_built_again_after_an_upgrade_are_counted(api: Api) -> None:
    """Of three days one is finished, one half done, one has failed."""
    found = api.get("/api/status").json["upgrade"]
    day = AS_OF_MS - AS_OF_MS % DAY
    assert found == {
        "state": "running", "from_version": "0.1.0", "started_ms": AS_OF_MS - AS_OF_MS % MINUTE, "finished_ms": None,
        "share": 0.5, "days": 3, "finished_days": 1, "failed_days": 1, "newest_left_ms": day - 2 * DAY, "models": 2,
        "last_error": "the committed landing file a.parquet is missing",
    }  # fmt: skip
