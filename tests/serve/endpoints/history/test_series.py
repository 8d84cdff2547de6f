"""GET /api/series/{metric}: the default range, CSV and Parquet, and what it returns without a readable replica."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.api_server import Api, free_port, running


@pytest.mark.requirement("series:shape", "series:source", "series:aligned", "series:range:default", "series:step:auto")
def test_default_is_the_day_before_as_of(api: Api) -> None:
    got = api.series("price", base="BTC")
    assert got["metric"] == "price"
    assert (got["base"], got["market"], got["venue"], got["type"]) == ("BTC", None, None, "perp")
    assert got["step"] == MINUTE
    assert got["start"] == (AS_OF_MS - DAY) // MINUTE * MINUTE
    assert got["end"] == AS_OF_MS
    assert got["source"] == "series_1m@e1842"
    assert got["fields"] == ["v"]
    assert len(got["v"]) == len(got["t"]) > 1400
    assert all(t % MINUTE == 0 for t in got["t"])
    assert got["t"] == sorted(set(got["t"]))
    assert got["start"] <= got["t"][0]
    assert got["t"][-1] < got["end"]
    assert "db" not in got
    assert "error" not in got


@pytest.mark.requirement("series:csv")
@pytest.mark.parametrize(
    "query", ["price?base=BTC&range=2d", "liqs?base=ETH&range=30d&step=4h", "funding?market=binance:perp:1000PEPEUSDT"]
)
def test_csv_equals_json(api: Api, query: str) -> None:
    content = json.loads(api.get(f"/api/series/{query}").body)
    answer = api.get(f"/api/series/{query}&format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    comment, _, table = answer.body.decode().partition("\n")
    assert comment.startswith("# source")
    assert content["source"] in comment
    rows = list(csv.reader(io.StringIO(table)))
    assert rows[0] == ["time_utc", "unix_ms", *content["fields"]]
    assert [int(row[1]) for row in rows[1:]] == content["t"]
    for k, name in enumerate(content["fields"]):
        assert [float(row[2 + k]) if row[2 + k] else None for row in rows[1:]] == content[name]
    utc = duckdb.execute("select list(strftime(epoch_ms(x), '%Y-%m-%dT%H:%M:%SZ')) from unnest(?) u(x)", [content["t"]])
    assert [row[0] for row in rows[1:]] == utc.fetchall()[0][0]


@pytest.mark.requirement("series:db:missing", "series:db:unreachable")
@pytest.mark.parametrize("broken", [False, True])
def test_without_a_readable_database(tmp_path: Path, broken: bool) -> None:
    serving = tmp_path / "serving"
    serving.mkdir()
    if broken:
        (serving / "replica_a.duckdb").write_bytes(b"not a database" * 1000)
        (serving / "current.json").write_text('{"replica": "replica_a.duckdb", "edition_id": 1}')
    with running(serving, free_port()) as api:
        answer = api.get("/api/series/price?base=BTC&range=1h")
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        content = answer.json
        assert (content["db"], content.get("error")) == (False, "unavailable" if broken else None)
        assert (content["t"], content["gaps"], content["base"]) == ([], [], "BTC")
        assert api.get("/api/series/liqs?base=btc&end=0").json.items() >= {"base": "BTC", "end": 0}.items()
        assert all(content[name] == [] for name in content["fields"])
        sheet = api.get("/api/series/price?base=BTC&format=csv")
        assert (sheet.status, sheet.body.decode().splitlines()[1]) == (200, "time_utc,unix_ms")
        # Which metrics there are is known from the first edition on.
        assert api.get("/api/series/prise?base=BTC").json["db"] is False
        assert api.get("/api/series/price?base=BTC&nope=1").status == 400
        assert str(serving) not in answer.body.decode()
