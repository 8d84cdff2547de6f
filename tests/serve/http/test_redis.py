"""Redis: workers and hosts share counters and responses, and go on alone while it is away."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.replica.replica import publish
from tests.support.servers.api_server import Answer, free_port, in_one_minute, running, some_address, until
from tests.support.servers.budgets import SERIES, budget
from tests.support.servers.redis_server import redis_server


@pytest.mark.requirement("limits:shared", "cache:shared")
def test_workers_and_hosts_share_counters_and_responses(tmp_path: Path) -> None:
    for host in ("one", "two"):
        publish(tmp_path / host / "serving", 1)
    with (
        redis_server(tmp_path) as redis,
        running(tmp_path / "one" / "serving", free_port(), redis_url=redis.url, workers=2) as one,
        running(tmp_path / "two" / "serving", free_port(), redis_url=redis.url) as two,
    ):
        # The workers of a host open their replicas one after the other.
        until(lambda: [one.get(SERIES).status for _ in range(20)], lambda statuses: set(statuses) == {200})

        def scenario() -> list[Answer]:
            who = some_address()
            return [api.get(SERIES, X_Forwarded_For=who) for _ in range(16) for api in (one, two)]

        answers = in_one_minute(scenario)
        assert [budget(answer)[1] for answer in answers] == [max(0, 29 - n) for n in range(32)]
        assert [answer.status for answer in answers] == [200] * 30 + [429] * 2
        kept = list(redis.client.keys("tidemark:answer:*"))
        assert len(kept) >= 1
        # One worker serves what another has cached: visible by changing it in Redis.
        path = "/api/series/oi?base=ETH&range=3h"
        before = set(redis.client.keys("tidemark:answer:*"))
        body = one.get(path).body
        (name,) = until(lambda: set(redis.client.keys("tidemark:answer:*")) - before, bool)
        kept_body: Any = redis.client.get(name)
        redis.client.set(name, kept_body.replace(b'"metric":"oi"', b'"metric":"io"'))
        assert two.get(path).body == body.replace(b'"metric":"oi"', b'"metric":"io"')

        redis.stop()
        lonely = in_one_minute(lambda: [two.get(SERIES, X_Forwarded_For=who) for who in [some_address()] * 32])
        assert [answer.status for answer in lonely] == [200] * 30 + [429] * 2
        assert one.get("/api/series/volume?base=ETH&range=9h").status == 200
        redis.start()

        def counted() -> bool:
            two.get(SERIES)
            return bool(redis.client.keys("tidemark:limit:*"))

        until(counted, bool)
        assert "Traceback" not in one.log.read_text() + two.log.read_text()
