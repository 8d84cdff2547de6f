"""GET /api/series/{metric}: the default range, its forms, each exchange by itself, and without a readable replica."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serve.replica.catalog import VENUES
from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.api_server import Api, free_port, running

RANGE = f"start={AS_OF_MS - 2 * DAY}&end={AS_OF_MS}"


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


def alone(api: Api, metric: str, venue: str, **more: Any) -> dict[str, Any] | None:
    """The series of one exchange; None where it never had the metric."""
    words = "&".join(f"{name}={value}" for name, value in more.items())
    answer = api.get(f"/api/series/{metric}?base=BTC&venue={venue}&{RANGE}&{words}")
    assert answer.status == 200 or "is recorded on" in answer.json["error"], answer.body
    return answer.json if answer.status == 200 else None


def known(series: dict[str, Any], names: list[str]) -> dict[int, tuple[Any, ...]]:
    """Bucket → values, where there are any."""
    rows = zip(series["t"], *(series[name] for name in names), strict=True)
    return {t: values for t, *values in rows if any(value is not None for value in values)}  # type: ignore[misc]


@pytest.mark.requirement("series:by")
@pytest.mark.parametrize("step", ["5m", "1h"])
@pytest.mark.parametrize(
    "metric",
    ["price", "oi", "funding", "volume", "liquidations", "taker-flow", "cvd", "basis", "long-short", "net-positioning",
     "top-vs-crowd", "whale-vs-retail", "ob-depth"],
)  # fmt: skip
def test_each_exchange_has_the_series_that_it_has_alone(api: Api, metric: str, step: str) -> None:
    each = api.get(f"/api/series/{metric}?base=BTC&by=venue&{RANGE}&step={step}&coverage=1").json
    assert (each["by"], each["venue"], each["base"]) == ("venue", None, "BTC")
    assert each["t"] == sorted(set(each["t"]))
    found = 0
    for name in VENUES:
        own = alone(api, metric, name, step=step, coverage=1)
        if own is None or not own["t"]:
            assert name not in each["venues"]
            continue
        found += 1
        given = each["venues"][name]
        fields = [*own["fields"], "n", "expected", "origin"]
        assert set(given) == set(fields)
        assert known({"t": each["t"], **given}, fields) == known(own, fields)
        assert own["step"] == each["step"]
        named = [gap for gap in each["gaps"] if gap["venue"] in (None, name)]
        assert all(gap in named or {**gap, "venue": name} in named for gap in own["gaps"])
        assert all(gap in own["gaps"] for gap in named if gap["reason"] != "before_recording")
    assert found == len(each["venues"]) > 0


@pytest.mark.requirement("series:by")
def test_a_range_without_any_value_has_no_exchange(api: Api) -> None:
    early = f"start={AS_OF_MS - 700 * DAY}&end={AS_OF_MS - 700 * DAY + 60 * MINUTE}"
    for metric in ("volume", "basis"):
        empty = api.get(f"/api/series/{metric}?base=BTC&by=venue&{early}&step=1h").json
        assert (empty["t"], empty["venues"]) == ([], {})
        sheet = api.get(f"/api/series/{metric}?base=BTC&by=venue&{early}&step=1h&format=csv").body.decode()
        assert sheet.splitlines()[1].startswith("time_utc,unix_ms,venue,")
        table = pq.read_table(
            io.BytesIO(api.get(f"/api/series/{metric}?base=BTC&by=venue&{early}&format=parquet").body)
        )
        assert (table.num_rows, table.column_names[:3]) == (0, ["t", "venue", "v"])


@pytest.mark.requirement("series:by:formats")
@pytest.mark.parametrize("more", ["", "&coverage=1"])
def test_other_formats_have_a_row_for_each_bucket_of_an_exchange(api: Api, more: str) -> None:
    query = f"/api/series/liquidations?base=BTC&by=venue&{RANGE}&step=1h{more}"
    each = api.get(query).json
    names = ["long", "short", *(["n", "expected", "origin"] if more else [])]
    wanted = sorted(
        (t, venue, *values)
        for venue, arrays in each["venues"].items()
        for t, values in known({"t": each["t"], **arrays}, names).items()
    )
    for kind, read in (("parquet", pq.read_table), ("arrow", lambda file: pa.ipc.open_stream(file).read_all())):
        table = read(io.BytesIO(api.get(f"{query}&format={kind}").body))
        assert table.column_names == ["t", "venue", *names]
        assert [tuple(row.values()) for row in table.to_pylist()] == wanted
    comment, _, sheet = api.get(f"{query}&format=csv").body.decode().partition("\n")
    assert "each venue" in comment
    rows = list(csv.DictReader(io.StringIO(sheet)))
    assert [(int(row["unix_ms"]), row["venue"], float(row["long"]), float(row["short"])) for row in rows] == [
        row[:4] for row in wanted
    ]


@pytest.mark.requirement("series:by:refused")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("price?base=BTC&by=coin", "venue"),
        ("price?base=BTC&venue=binance&by=venue", "of binance alone"),
        ("price?market=binance:perp:BTCUSDT&by=venue", "leave by or market out"),
        ("spot-perp-volume?by=venue", "all coins together"),
    ],
)
def test_by_where_it_says_nothing_is_refused(api: Api, query: str, said: str) -> None:
    answer = api.get(f"/api/series/{query}")
    assert answer.status == 400
    assert said in answer.json["error"]


@pytest.mark.requirement("series:by")
def test_an_exchange_without_any_value_is_in_the_gaps_alone(api: Api) -> None:
    day = api.get(f"/api/series/price?base=ETH&by=venue&range=1d&step=1m&end={AS_OF_MS}").json
    empty = {
        venue: {t for t, value in zip(day["t"], arrays["v"], strict=True) if value is None}
        for venue, arrays in day["venues"].items()
    }
    gap = next(
        gap
        for gap in day["gaps"]
        if gap["venue"] and empty[gap["venue"]] >= {t for t in day["t"] if gap["start"] <= t < gap["end"]} != set()
    )
    within = f"start={gap['start']}&end={gap['end']}&step=1m"
    each = api.get(f"/api/series/price?base=ETH&by=venue&{within}").json
    assert each["venues"]
    assert gap["venue"] not in each["venues"]
    assert gap in each["gaps"]
