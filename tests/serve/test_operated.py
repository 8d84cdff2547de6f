"""What those who operate a server ask it: whether it lives, whether its data is fresh, and what it counts."""

from pathlib import Path

import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import Api, free_port, running, until
from tests.support.servers.redis_server import redis_server
from tests.support.servers.scrape import samples

SERIES = "/api/series/price?base=BTC&range=6h"


@pytest.mark.requirement("operated:health")
def test_a_process_is_healthy_before_its_data_is_ready(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    with running(serving, free_port(), now_ms=AS_OF_MS + 20_000) as api:
        assert api.get("/healthz").json == {"state": "alive"}
        answer = api.get("/readyz")
        assert (answer.status, answer.json["state"], answer.headers["retry-after"]) == (503, "loading", "5")
        publish(serving, 1)
        answer = until(lambda: api.get("/readyz"), lambda answer: answer.status == 200)
        assert answer.json == {"state": "ready", "edition": 1, "age_s": 20.0}
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.requirement("operated:health")
@pytest.mark.parametrize("ahead_ms", [181_000, -181_000])
def test_an_edition_that_is_too_old_or_of_the_future_is_not_ready(tmp_path: Path, ahead_ms: int) -> None:
    publish(tmp_path / "serving", 1)
    with running(tmp_path / "serving", free_port(), now_ms=AS_OF_MS + ahead_ms) as api:
        answer = until(lambda: api.get("/readyz"), lambda answer: answer.json["state"] != "loading")
        assert (answer.status, answer.json["state"]) == (503, "stale")
        assert f"{ahead_ms // 1000} s old" in answer.error
        assert api.get("/healthz").status == 200


def counted(api: Api) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return samples(api.get("/metrics").body.decode())


@pytest.mark.requirement("operated:metrics")
def test_requests_are_counted_by_endpoint_and_status(tmp_path: Path) -> None:
    publish(tmp_path / "serving", 1)
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "recorder.prom").write_text('tidemark_requests_total{venue="x"} 7.0\n')
    (tmp_path / "metrics" / "of-another.txt").write_text("nonsense")
    with running(tmp_path / "serving", free_port(), now_ms=AS_OF_MS + 20_000) as api:
        until(lambda: api.get("/readyz").status, lambda status: status == 200)
        before = counted(api)
        for path in (SERIES, SERIES, "/api/series/price?base=NOPE", "/api/nothing", "/api/markets", "/"):
            api.get(path)
        api.get("/", "DELETE")
        after = counted(api)

    def grown(name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return after[key] - before.get(key, 0)

    series = "/api/series/{metric}"
    assert grown("tidemark_http_requests_total", endpoint=series, status="200") == 2
    assert grown("tidemark_http_requests_total", endpoint=series, status="404") == 1
    assert grown("tidemark_http_requests_total", endpoint="unknown", status="404") == 1
    assert grown("tidemark_http_request_seconds_count", endpoint=series) == 3
    assert grown("tidemark_http_request_seconds_bucket", endpoint=series, le="+Inf") == 3
    # The second of the same series, and the index, which was asked for when the server started.
    assert grown("tidemark_cache_requests_total", result="hit") == 2
    assert after["tidemark_edition", ()] == 1
    assert after["tidemark_edition_age_seconds", ()] == pytest.approx(20)
    assert after["tidemark_edition_as_of_timestamp_seconds", ()] == AS_OF_MS / 1000
    assert after["tidemark_venue_last_good_timestamp_seconds", (("venue", "binance"),)] <= AS_OF_MS / 1000
    assert after["tidemark_requests_total", (("venue", "x"),)] == 7


@pytest.mark.requirement("operated:metrics")
def test_metrics_without_data_leave_out_what_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "serving").mkdir()
    with running(tmp_path / "serving", free_port()) as api:
        found = counted(api)
    assert found["tidemark_serving", ()] == 0
    assert not any(name.startswith(("tidemark_edition", "tidemark_venue")) for name, _ in found)


@pytest.mark.requirement("operated:metrics")
def test_workers_count_together(tmp_path: Path) -> None:
    publish(tmp_path / "serving", 1)
    with (
        redis_server(tmp_path) as redis,
        running(tmp_path / "serving", free_port(), redis_url=redis.url, workers=2) as api,
    ):
        # Each worker began to serve at a time of its own.
        served = ("tidemark_edition_served_timestamp_seconds", ())
        until(lambda: {counted(api).get(served) for _ in range(20)}, lambda seen: len(seen - {None}) == 2)
        key = ("tidemark_http_requests_total", (("endpoint", "/api/series/{metric}"), ("status", "200")))
        before = counted(api).get(key, 0)
        assert [api.get(SERIES).status for _ in range(40)] == [200] * 40
        assert counted(api)[key] - before == 40
