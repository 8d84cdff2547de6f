"""GET /api/series/{metric}: the default range, its forms, each exchange by itself, and without a readable replica."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serve.replica.catalog import VENUES
from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE, TIERS, publish
from tests.support.servers.api_server import Api, free_port, running
from tests.support.servers.series_calls import HOUR, bad

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


# Candles: of one market, from its bars.
ETH = "binance:perp:ETHUSDT"
PRICES = ("open", "high", "low", "close")


@pytest.mark.requirement("series:candles")
@pytest.mark.parametrize("step", [step for step, width, *_ in TIERS if DAY % width == 0])
def test_candles_are_those_of_the_tier(api: Api, step: str, tmp_path: Path) -> None:
    width = {step: width for step, width, *_ in TIERS}[step]
    start = AS_OF_MS - 40 * width
    got = api.series("candles", market=ETH, start=start, end=AS_OF_MS, step=step)
    assert (got["step"], got["fields"], got["source"]) == (width, list(PRICES), f"series_{step}@e1842")
    with duckdb.connect(str(publish(tmp_path, 1))) as con:
        wanted = con.execute(
            f"select t, {', '.join(PRICES)} from series_market_{step} where market_id = $1 and t >= $2 and open > 0 "
            "order by t",
            [ETH, start // width * width],
        ).fetchall()
    assert list(zip(got["t"], *(got[name] for name in PRICES), strict=True)) == wanted
    assert len(wanted) > 30


@pytest.mark.requirement("series:candles", "series:formats", "series:csv")
def test_every_format_has_the_same_candles(api: Api) -> None:
    query = f"/api/series/ohlc?market={ETH}&range=2d&step=1h&coverage=1"
    said = api.get(query).json
    assert said["metric"] == "candles"
    names = [*PRICES, "n", "expected", "origin"]
    rows = list(csv.reader(io.StringIO(api.get(f"{query}&format=csv").body.decode().partition("\n")[2])))
    assert rows[0] == ["time_utc", "unix_ms", *names]
    assert [[float(cell) for cell in row[2:6]] for row in rows[1:]] == [
        list(one) for one in zip(*(said[name] for name in PRICES), strict=True)
    ]
    for table in (
        pq.read_table(io.BytesIO(api.get(f"{query}&format=parquet").body)),
        pa.ipc.open_stream(api.get(f"{query}&format=arrow").body).read_all(),
    ):
        assert table.to_pydict() == {name: said[name] for name in ("t", *names)}


@pytest.mark.requirement("series:candles:part", "series:coverage", "series:gaps:partial")
def test_a_candle_of_a_part_says_that_it_is_one(tmp_path: Path) -> None:
    """Of one hour a minute is missing: its candle is there, and is not counted; of the next there is none."""
    first = AS_OF_MS // HOUR * HOUR - 5 * HOUR
    with duckdb.connect(str(publish(tmp_path, 1, max_days=1))) as con:
        con.execute("delete from gaps")
        con.execute(
            f"update series_market_1h set candle_n = 60, open = 2, high = 4, low = 1, close = 3 where t >= {first}"
        )
        con.execute(f"update series_market_1h set candle_n = 59 where t = {first}")
        con.execute(
            "update series_market_1h set candle_n = 0, open = null, high = null, low = null, close = null "
            f"where t = {first + HOUR}"
        )
        there = con.execute(
            f"select t from series_market_1h where market_id = '{ETH}' and t between {first} and {first + 3 * HOUR}"
        ).fetchall()
    assert len(there) == 4
    with running(tmp_path, free_port()) as api:
        got = api.series("candles", market=ETH, start=first, end=first + 4 * HOUR, step="1h", coverage="1")
    assert got["t"] == [first, first + 2 * HOUR, first + 3 * HOUR]
    assert [got[name] for name in PRICES] == [[2.0] * 3, [4.0] * 3, [1.0] * 3, [3.0] * 3]
    assert (got["n"], got["expected"], set(got["origin"])) == ([0, 1, 1], [1, 1, 1], {"recorded"})
    assert got["gaps"] == [{"start": first, "end": first + 2 * HOUR, "venue": "binance", "reason": "partial"}]


@pytest.mark.requirement("series:candles:refused", "series:by:refused")
def test_candles_of_a_coin_or_by_exchange_are_refused(api: Api) -> None:
    bad(api, "candles?base=BTC", "base", "candles takes market only")
    bad(api, "candles?base=BTC&by=venue", "base", "candles takes market only")
    bad(api, f"candles?market={ETH}&by=venue", "by", "the series is of binance alone: leave by out")
    bad(api, f"candles?market={ETH}&type=all", "type", "use one of perp, spot")
    bad(api, "candles?range=1d", "base, market")


@pytest.mark.requirement("series:candles", "series:known")
def test_candles_as_known_are_those_of_then(api: Api) -> None:
    then = AS_OF_MS - 2 * HOUR
    got = api.series("candles", market=ETH, step="5m", range="6h", as_known_at=then)
    assert got["source"] == f"known_5m@{then}"
    now = api.series("candles", market=ETH, step="5m", start=got["start"], end=then)
    known = sum(t + 6 * MINUTE <= then for t in now["t"])
    assert len(now["t"]) > known > 50
    for name in ("t", *PRICES):
        assert got[name] == now[name][:known], name


@pytest.mark.requirement("series:candles")
def test_candles_are_described_as_every_metric_is(api: Api) -> None:
    [listed] = [one for one in api.get("/api/metrics").json["metrics"] if one["metric"] == "candles"]
    assert (listed["unit"], listed["fields"], listed["selectors"]) == ("USD", list(PRICES), ["market"])
    assert listed["types"] == ["perp", "spot"]
    how = api.get("/api/methodology/candles?step=1h").json
    assert how["tables"] == {"market": "series_market_1h"}
    assert "high(b) = the highest high" in how["formula"]
    assert "`candles` (open, high, low, close; USD)" in api.get("/openapi.json").body.decode()


@pytest.mark.requirement("series:sql")
@pytest.mark.parametrize(
    ("metric", "selected"),
    [
        ("price", "base=BTC&range=2d&step=1h"),
        ("oi", "base=ETH&range=30d&type=all"),
        ("liquidations", "base=ETH&venue=bybit&range=6h&step=1m"),
        ("funding", "base=BTC&range=7d&step=4h&by=venue"),
        ("cvd", "base=BTC&range=2d&step=1h"),
        ("basis", "base=BTC&range=2d&step=1h"),
        ("long-short", "base=BTC&range=2d&step=1h"),
        ("ob-depth", "base=BTC&range=2d&step=1h"),
        ("candles", "market=binance:perp:BTCUSDT&range=1d&step=5m"),
        ("spot-perp-volume", "range=7d&step=1d"),
        ("price", f"base=BTC&range=1d&step=5m&as_known_at={AS_OF_MS - 60 * MINUTE}"),
    ],
)
def test_the_sql_gives_the_series_from_the_replica(api: Api, metric: str, selected: str, tmp_path: Path) -> None:
    wanted = api.get(f"/api/series/{metric}?{selected}").json
    answer = api.get(f"/api/series/{metric}?{selected}&format=sql")
    text = answer.body.decode()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.startswith(f"-- {wanted['source'].partition(' ')[0]}")
    replica = shutil.copy(api.serving / "replica_a.duckdb", tmp_path)
    with duckdb.connect(str(replica), read_only=True) as con:
        rows = con.execute(text).to_arrow_table().to_pylist()
    for venue, arrays in wanted.get("venues", {None: wanted}).items():
        at = {row["t"]: row for row in rows if row.get("venue") == venue}
        for name in wanted["fields"]:
            assert arrays[name] == [at[t][name] if t in at else None for t in wanted["t"]]
    assert sorted({row["t"] for row in rows}) == wanted["t"] != []


@pytest.mark.requirement("series:sql")
def test_there_is_no_sql_without_a_replica(tmp_path: Path) -> None:
    with running(tmp_path, free_port()) as api:
        assert api.get("/api/series/price?base=BTC&format=sql").body == b"-- source: unavailable\n"
