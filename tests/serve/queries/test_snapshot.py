"""Snapshots of the marts: the times of the edition behind any JSON object, and one coin of the markets."""

import orjson
import pytest

from serve.queries.snapshot import read_coin, snapshot_body
from serve.replica.edition import Reader
from tests.support.replica.replica import AS_OF_MS, DAY
from tests.support.servers.api_server import Api


@pytest.mark.requirement("markets:edition")
def test_a_snapshot_has_the_times_of_the_edition(reader: Reader) -> None:
    body = snapshot_body(reader, """select '{"n":' || $n || ',"bad":NaN}'""", {"n": 7})
    assert orjson.loads(body.data) == {"n": 7, "bad": None, "server_ts": AS_OF_MS, "uptime_since": AS_OF_MS - 3 * DAY}


@pytest.mark.requirement("coin:values")
def test_a_coin_is_its_entry_of_the_markets(api: Api, reader: Reader) -> None:
    listed = {coin["base"]: coin for coin in api.get("/api/markets").json["coins"]}
    assert {base: read_coin(reader, base) for base in listed} == listed
    assert read_coin(reader, "NOPE") is None
