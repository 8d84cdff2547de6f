"""GET /api/series/{metric} over HTTP on a real replica: selectors, ranges, steps, values, gaps, CSV."""

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.replica.replica import AS_OF_MS, CATALOG, DAY, LAST, MARKETS, MINUTE, TIERS, build_replica, publish
from tests.support.replica.replica_server import EDITION
from tests.support.servers.api_server import Api, free_port, running

HOUR = 60 * MINUTE
# Metrics that are columns of the tiers as they are; the others are in test_api_formulas.py.
PLAIN = {
    name for name, definition in CATALOG.items() if all("column" in field for field in definition["fields"].values())
}
UNITS = {"m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY, "y": 365 * DAY}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same rows, read past the server."""
    path = tmp_path_factory.mktemp("facts") / "same.duckdb"
    build_replica(path, 1842)
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def bad(api: Api, query: str, *named: str, status: int = 400) -> str:
    """The message of a request that must fail; it names all of `named`."""
    answer = api.get(f"/api/series/{query}")
    assert answer.status == status, answer
    for name in named:
        assert name in answer.error
    return answer.error


@pytest.mark.requirement("series:values")
def test_coins_with_the_same_base_key_are_not_mixed(api: Api, tmp_path: Path) -> None:
    """A replica finds coins by a hash of their names; two coins with the same hash still get their own rows."""
    path = publish(tmp_path / "serving", EDITION)
    with duckdb.connect(str(path)) as con:
        for (table,) in con.execute(
            "select table_name from duckdb_columns() where column_name = 'base_key' and not internal"
        ).fetchall():
            con.execute(f"update {table} set base_key = 7 where base in ('BTC', 'ETH')")
        assert con.execute("select count(*) from base_keys where base_key = 7").fetchall() == [(2,)]
    with running(tmp_path / "serving", free_port()) as same_number:
        for asked in (
            "/api/series/oi?base=BTC", "/api/series/oi?base=ETH", "/api/series/oi?base=BTC&venue=binance",
            "/api/series/volume?base=ETH&step=1h&range=30d", "/api/coins/overlay?c=BTC,ETH", "/api/coin/BTC",
        ):  # fmt: skip
            expected, got = api.get(asked), same_number.get(asked)
            assert (got.status, got.body) == (200, expected.body), asked


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


@pytest.mark.requirement("series:values")
@pytest.mark.parametrize("step", [tier[0] for tier in TIERS if tier[0] != "3d"])
def test_a_markets_values_are_those_of_the_facts(api: Api, step: str) -> None:
    """By the formula of the replica, computed here."""
    ms = next(width for name, width, *_ in TIERS if name == step)
    start = AS_OF_MS - 100 * ms
    got = api.series("price", market="bybit:perp:BTCUSDT", start=start, end=AS_OF_MS, step=step)
    i, level = 3, MARKETS[3][-1]
    times = [t for t in range(start // ms * ms, AS_OF_MS, ms) if t // ms % 53 and (t // ms + i) % 41]
    assert got["step"] == ms
    assert got["t"] == times
    assert got["v"] == pytest.approx([level * (1 + math.sin(t / 1e8 + i) / 20) for t in times], rel=1e-12)
    assert (got["base"], got["market"], got["venue"], got["type"]) == (None, "bybit:perp:BTCUSDT", "bybit", "perp")


@pytest.mark.requirement("series:values", "series:type", "series:venue", "series:two-fields")
@pytest.mark.parametrize("metric", sorted(PLAIN))
@pytest.mark.parametrize("venue", [None, "binance"])
@pytest.mark.parametrize("kind", [None, "perp", "spot", "all"])
def test_a_coins_values_are_those_of_its_row(
    api: Api, facts: duckdb.DuckDBPyConnection, metric: str, venue: str | None, kind: str | None
) -> None:
    definition = CATALOG[metric]
    if kind and kind not in definition["types"]:
        bad(api, f"{metric}?base=BTC&type={kind}", "type", kind, "perp")
        return
    asked: dict[str, Any] = {"base": "BTC", "range": "20h", "step": "1h"}
    asked |= {name: text for name, text in (("venue", venue), ("type", kind)) if text}
    got = api.series(metric, **asked)
    columns = [field["column"] for field in definition["fields"].values()]
    rows = facts.execute(
        f"select t, {', '.join(columns)} from series_{'venue' if venue else 'base'}_1h where base = 'BTC' and type = ?"
        f"{' and venue = ?' if venue else ''}"
        f" and t >= ? and t < ? and ({' or '.join(f'{column} is not null' for column in columns)}) order by t",
        [kind or "perp", *([venue] if venue else []), got["start"], AS_OF_MS],
    ).fetchall()
    assert len(rows) > 10
    assert got["fields"] == list(definition["fields"])
    assert [tuple(row) for row in zip(got["t"], *(got[name] for name in got["fields"]), strict=True)] == rows
    assert (got["venue"], got["type"]) == (venue, kind or "perp")


@pytest.mark.requirement("series:alias")
@pytest.mark.parametrize(
    ("alias", "metric"), [("open-interest", "oi"), ("funding-rate", "funding"), ("liqs", "liquidations")]
)
def test_an_alias_is_its_metric(api: Api, alias: str, metric: str) -> None:
    assert api.series(alias, base="BTC", range="2h") == api.series(metric, base="BTC", range="2h")
    assert api.series(alias, base="BTC")["metric"] == metric


@pytest.mark.requirement("series:metric:unknown", "series:metric:undefined")
def test_an_unknown_metric_names_the_closest_and_those_there_are(api: Api) -> None:
    bad(api, "prise?base=BTC", "metric", "'prise'", "did you mean 'price'?")
    bad(api, "options?base=BTC", "'options'", "funding, funding-rate, liqs, liquidations")


@pytest.mark.requirement("series:selector:one")
def test_exactly_one_selector(api: Api) -> None:
    bad(api, "price", "base", "market", "exactly one")
    bad(api, "price?base=BTC&market=binance:perp:BTCUSDT", "base", "market", "exactly one")


@pytest.mark.requirement("series:base:case", "series:base:unknown")
def test_coins(api: Api) -> None:
    assert api.series("price", base="pEpE")["base"] == "PEPE"
    assert api.series("price", base="xyz:tsla")["base"] == "xyz:TSLA"
    answer = api.get("/api/series/price?base=NOPE")
    assert (answer.status, answer.body) == (404, b'{"error":"unknown coin"}')


@pytest.mark.requirement(
    "series:market", "series:market:unknown", "series:market:malformed", "series:market:contradicted"
)
def test_markets(api: Api) -> None:
    assert api.series("price", market="hyperliquid:perp:xyz:TSLA", range="3h")["v"]
    assert api.series("price", market="binance:spot:BTCUSDT", range="3h", venue="binance", type="spot")["v"]
    answer = api.get("/api/series/price?market=binance:perp:NOPEUSDT")
    assert (answer.status, answer.body) == (404, b'{"error":"unknown market"}')
    assert api.get("/api/series/price?market=okx:perp:BTC-USDT-SWAP").status == 404
    bad(api, "price?market=binanse:perp:BTCUSDT", "market", "did you mean 'binance:perp:BTCUSDT'?")
    for text in ("binance", "binance:perp", "binance:perp:", "binance:future:BTCUSDT", "::", "BINANCE:perp:BTCUSDT"):
        bad(api, f"price?market={text}", "market", "venue:perp|spot:SYMBOL")
    bad(api, "price?market=binance:perp:BTCUSDT&venue=bybit", "venue", "'bybit'", "binance")
    bad(api, "price?market=binance:perp:BTCUSDT&type=spot", "type", "'spot'", "perp")
    assert "has perp markets only" in bad(api, "oi?market=binance:spot:BTCUSDT", "market", "binance:spot:BTCUSDT")
    bad(api, "price?market=binance:perb:BTCUSDT", "did you mean 'binance:perp:BTCUSDT'?")
    for text in ("binance:future:BTCUSDT", "binance:BTCUSDT"):
        assert "did you mean" not in bad(api, f"price?market={text}", text), "nothing wrong is proposed"


@pytest.mark.requirement("series:venue:never", "series:type:fixed")
def test_a_metric_where_it_never_is(api: Api) -> None:
    bad(api, "liquidations?base=BTC&venue=hyperliquid", "venue", "'hyperliquid'", "binance, bybit")
    bad(api, "liquidations?market=hyperliquid:perp:BTC", "market", "'hyperliquid:perp:BTC'", "binance, bybit")
    bad(api, "price?base=BTC&venue=okx&format=csv", "venue", "'okx'", "hyperliquid")
    bad(api, "price?base=BTC&venue=bianance", "venue", "did you mean 'binance'?")
    bad(api, "oi?base=BTC&type=spot", "type", "'spot'", "perp")


@pytest.mark.requirement("series:empty")
def test_an_empty_history_is_empty_arrays(api: Api) -> None:
    got = api.series("price", base="BTC", start=1_000_000_000_000, end=1_000_003_600_000)
    assert (got["t"], got["v"]) == ([], [])
    assert api.series("price", base="XYZ:tsla", type="spot")["v"] == []
    assert (
        api.series("liquidations", base="BTC", venue="binance", start=1_000_000_000_000, end=1_000_003_600_000)["t"]
        == []
    )
    later = api.series("price", base="BTC", start=AS_OF_MS + DAY, range="1h")
    assert (later["t"], later["end"]) == ([], AS_OF_MS + DAY)


@pytest.mark.requirement("series:range:units")
@pytest.mark.parametrize("text", ["90m", "6h", "30d", "12w", "1y"])
def test_range_units(api: Api, text: str) -> None:
    got = api.series("price", base="BTC", range=text)
    length = int(text[:-1]) * UNITS[text[-1]]
    assert got["start"] == (AS_OF_MS - length) // got["step"] * got["step"]


@pytest.mark.requirement("series:range:cap", "series:range:long")
def test_the_longest_ranges(api: Api) -> None:
    bad(api, "price?base=BTC&range=731d", "range", "730d", "3650d with an API key")
    bad(api, f"price?base=BTC&start=0&end={AS_OF_MS}", "range", "730d")
    bad(api, "funding?base=BTC&range=3651d", "at most 3650d")
    bad(api, "price?base=BTC&range=105w", "105w is too long", "730d")
    # Although most of it lies ahead.
    bad(api, f"price?base=BTC&start={LAST - HOUR}&range=3y", "3y is too long")
    assert api.series("price", base="BTC", range="730d")["step"] == DAY
    got = api.series("funding", base="BTC", range="10y")
    assert got["step"] == 3 * DAY
    assert 900 < len(got["t"]) < 1500


@pytest.mark.requirement(
    "series:start:alone", "series:start:range", "series:start:end", "series:start:after-end", "series:end:exclusive"
)
def test_start_and_end(api: Api) -> None:
    start = LAST - 10 * HOUR
    bad(api, f"price?base=BTC&start={start}", "start", "end or range")
    bad(api, f"price?base=BTC&start={start}&end={start}", "end", "after start")
    bad(api, f"price?base=BTC&start={start}&end={start - 1}", "end", "after start")
    ranged = api.series("price", base="BTC", start=start, range="2h")
    assert (ranged["start"], ranged["end"]) == (start, start + 2 * HOUR)
    assert api.series("price", base="BTC", start=start, range="20h")["end"] == AS_OF_MS
    both = api.series("price", base="BTC", start=start, end=start + HOUR, range="900d")
    assert (both["start"], both["end"]) == (start, start + HOUR)
    assert both["t"][-1] == start + HOUR - MINUTE
    ended = api.series("price", base="BTC", end=start, range="1h")
    assert (ended["start"], ended["end"]) == (start - HOUR, start)


@pytest.mark.requirement("series:step:raised", "series:step:kept", "series:step:coarse", "series:step:strict")
def test_steps(api: Api) -> None:
    assert api.series("price", base="BTC", range="30d", step="1m")["step"] == HOUR
    assert api.series("price", base="BTC", range="6h", step="1m")["step"] == MINUTE
    old = AS_OF_MS - 8 * DAY
    assert api.series("price", base="BTC", start=old, range="6h", step="1m")["step"] == 5 * MINUTE
    edge = LAST - 2 * DAY
    assert api.series("price", base="BTC", start=edge, end=edge + 1499 * MINUTE)["step"] == MINUTE
    assert api.series("price", base="BTC", start=edge, end=edge + 1500 * MINUTE)["step"] == 5 * MINUTE
    assert api.series("price", base="BTC", start=edge + 1, end=edge + 1499 * MINUTE + 1)["step"] == 5 * MINUTE
    day = AS_OF_MS // DAY * DAY
    one = api.series("oi", base="BTC", start=day + HOUR, end=day + 2 * HOUR, step="1d")
    assert (one["start"], one["t"], one["step"]) == (day, [day], DAY)


@pytest.mark.requirement("series:null")
def test_unknown_is_left_out_or_null(api: Api) -> None:
    """Market 3 has no price where (t // step + 3) % 41 == 0, and no row at all where t // step % 53 == 0."""
    start = AS_OF_MS - 50 * HOUR
    got = api.series("price", market="bybit:perp:BTCUSDT", start=start, end=AS_OF_MS, step="1h")
    missing = [
        t for t in range(start // HOUR * HOUR, AS_OF_MS, HOUR) if t // HOUR % 53 == 0 or (t // HOUR + 3) % 41 == 0
    ]
    assert missing
    assert not set(missing) & set(got["t"])
    assert None not in got["v"]


@pytest.mark.requirement("series:gaps", "series:gaps:clipped", "series:gaps:venue")
def test_gaps(api: Api) -> None:
    def at(minute: int) -> int:
        return LAST - minute * MINUTE

    down = {"start": at(100), "end": at(89), "venue": None, "reason": "recorder_down"}
    perp = {"start": at(300), "end": at(290), "venue": "binance", "reason": "venue_unreachable"}
    spot = {"start": at(290), "end": at(280), "venue": "binance", "reason": "venue_error"}
    bybit = {"start": at(200), "end": at(199), "venue": "bybit", "reason": "partial"}
    assert api.series("price", base="BTC")["gaps"] == [perp, down]
    assert api.series("price", base="BTC", type="all")["gaps"] == [perp, spot, down]
    assert api.series("price", base="BTC", type="spot")["gaps"] == [{**spot, "start": at(295)}, down]
    assert api.series("price", base="BTC", venue="bybit")["gaps"] == [down]
    assert api.series("liqs", base="BTC")["gaps"] == [bybit, down]
    assert api.series("liqs", market="bybit:perp:BTCUSDT")["gaps"] == [bybit, down]
    inside = api.series("price", base="BTC", start=at(295), end=at(95))["gaps"]
    assert inside == [{**perp, "start": at(295)}, {**down, "end": at(95)}]
    assert api.series("price", base="BTC", start=at(80), end=at(10))["gaps"] == []


@pytest.mark.requirement("series:gaps")
def test_time_before_the_first_recorded_minute_is_a_gap(api: Api) -> None:
    """Up to the first bucket that the venues' history filled, and wherever it has none."""
    since = AS_OF_MS - 3 * DAY

    def read(**query: Any) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        got = api.series("price", base="BTC", **query)
        early = [gap for gap in got["gaps"] if gap["start"] < since]
        assert got["gaps"][: len(early)] == early
        assert all((gap["venue"], gap["reason"]) == (None, "recorder_down") for gap in early)
        return got, [(gap["start"], gap["end"]) for gap in early]

    # The replica has minutes of its last three days alone.
    long_ago = AS_OF_MS // DAY * DAY - 2000 * DAY
    got, early = read(start=long_ago, end=long_ago + DAY, step="1h")
    assert (got["t"], early) == ([], [(long_ago, long_ago + DAY)])
    # Its days reach further back than the recording: those are known, the time before them is not.
    got, early = read(start=long_ago + 900 * DAY, end=long_ago + 1100 * DAY, step="1d")
    assert early[0] == (got["start"], got["t"][0])
    assert long_ago + 990 * DAY < got["t"][0] < long_ago + 1010 * DAY
    # Hours that are missing among them, and none after the recording began.
    market = api.series("price", market="binance:perp:BTCUSDT", start=since - 10 * DAY, end=since + DAY, step="1h")
    missing = sorted(set(range(market["start"], since, HOUR)) - set(market["t"]))
    inside = [gap for gap in market["gaps"] if gap["start"] < since]
    covered = [t for gap in inside for t in range(gap["start"], gap["end"], HOUR)]
    assert covered == missing
    assert missing
    # What has no history: the bucket in which the recording began is known from there on, whatever the step.
    day = since - since % DAY
    for step in ("1m", "1h", "1d"):
        liquidated = api.series("liquidations", base="BTC", start=day, end=day + DAY, step=step)
        assert liquidated["gaps"][0] == {"start": day, "end": since, "venue": None, "reason": "recorder_down"}
    overlay = api.get("/api/coins/overlay?c=BTC,ETH&range=30d").json
    for base in ("BTC", "ETH"):
        same = api.series("price", base=base, start=overlay["start"], end=overlay["end"], step="1h")
        early = [gap for gap in same["gaps"] if gap["start"] < since]
        assert [gap for gap in overlay["gaps"][base] if gap["start"] < since] == early
        assert early
    table = api.get(f"/api/series/price?base=BTC&start={long_ago}&range=1d&format=parquet").body
    about = json.loads(pq.read_schema(io.BytesIO(table)).metadata[b"tidemark"])
    assert [(gap["start"], gap["end"]) for gap in about["gaps"]] == [(long_ago, long_ago + DAY)]


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


durations = st.tuples(st.integers(1, 800), st.sampled_from("mhdw")).filter(lambda d: d[0] * UNITS[d[1]] <= 730 * DAY)
times = st.integers(AS_OF_MS - 700 * DAY, AS_OF_MS)


@pytest.mark.requirement("series:step:auto", "series:step:raised", "series:step:kept", "series:aligned")
@settings(max_examples=150, deadline=None)
@given(step=st.sampled_from(["auto", "1m", "5m", "15m", "1h", "4h", "1d"]), length=durations, start=st.none() | times)
def test_any_range_and_step(api: Api, step: str, length: tuple[int, str], start: int | None) -> None:
    """Against an independent reckoning: which bucket numbers the range touches, tier by tier."""
    asked: dict[str, Any] = {"market": "bybit:perp:BTCUSDT", "range": f"{length[0]}{length[1]}", "step": step}
    ms = length[0] * UNITS[length[1]]
    first, end = AS_OF_MS - ms, AS_OF_MS
    if start is not None:
        asked["start"], first, end = start, start, min(start + ms, AS_OF_MS)
    got = api.series("price", **asked)
    finest = next((width for name, width, *_ in TIERS if name == step), 0)
    fitting = []
    for _, width, _, keep_days in TIERS:
        buckets = range(first // width, -(-end // width))
        if width >= finest and len(buckets) < 1500:
            fitting.append((width, buckets, keep_days is None or AS_OF_MS - first <= keep_days * DAY))
    width, buckets, _ = next((choice for choice in fitting if choice[2]), fitting[-1])
    held = (AS_OF_MS - next(days for _, own, days, _ in TIERS if own == width) * DAY) // width
    assert got["step"] == width
    assert (got["start"], got["end"]) == (first // width * width, end)
    assert [t // width for t in got["t"]] == [n for n in buckets if n >= held and n % 53 and (n + 3) % 41]


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
        assert api.get("/api/series/prise?base=BTC").status == 400
        assert api.get("/api/series/price?base=BTC&nope=1").status == 400
        assert str(serving) not in answer.body.decode()
