"""Minutes of an archive's files, from the landed file to the response: years before the first recorded minute. And days
of bulk files that the tiers no longer have."""

import json
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow.parquet as pq
import pytest

from ingest.landing.rows import Row
from ingest.venues.binance import BINANCE
from orchestration.config.settings import Settings
from orchestration.publish.bulk import write_bulk
from orchestration.publish.publish import publish
from serve.replica.units import UNIT_MS
from tests.support.pipeline.product_minutes import Moment, Product
from tests.support.pipeline.recorder_minutes import MINUTE
from tests.support.servers.api_server import Api, free_port, running
from tests.support.start import HOUR, start_ms

START = start_ms(HOUR)
DAY = 24 * HOUR
PAST = START - 400 * DAY
YESTERDAY = START - START % DAY - DAY
NO_TRADE = range(70, 80)  # minutes that the spot file leaves out


class Minute(NamedTuple):
    """What a file says of a minute: its prices, what was traded and what takers bought of it, USD."""

    open: float
    high: float
    low: float
    close: float
    volume: float
    bought: float


Minutes = dict[int, Minute]


def minutes(start: int, count: int, seed: int) -> Minutes:
    draw = random.Random(seed)
    made = {}
    for t in range(start, start + count * MINUTE, MINUTE):
        low, first, last, high = sorted(round(draw.uniform(90, 110), 2) for _ in range(4))
        prices = (first, high, low, last) if draw.random() < 0.5 else (last, high, low, first)
        volume = round(draw.uniform(1e3, 1e6), 2)
        made[t] = Minute(*prices, volume, round(volume * draw.random(), 2))
    return made


def csv(rows: Minutes) -> str:
    return (
        "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n"
        + "".join(
            f"{t},{one.open},{one.high},{one.low},{one.close},5,{t + MINUTE - 1},{one.volume},7,2,{one.bought},0\n"
            for t, one in rows.items()
        )
    )


def file_row(kind: str, rows: Minutes, tick_ms: int) -> Row:
    params = json.dumps({"file": f"{kind}-{min(rows)}-{tick_ms}"})
    return Row(
        tick_ms, "binance", f"{kind}_minutes_history", "BTCUSDT", params, 200, tick_ms, tick_ms, 1, None, csv(rows)
    )


PERP, SPOT = minutes(PAST, 3 * 1440, 1), minutes(PAST, 3 * 1440, 2)
# A day that the tiers of 5m and 15m would still have, if it had been recorded.
LATELY = minutes(START - 20 * DAY, 1440, 5)
# From the start of the day before to the first recorded minute.
NEAR = minutes(YESTERDAY, (START - YESTERDAY) // MINUTE, 4)
CORRECTED = minutes(PAST + DAY, 10, 3)


class Served(NamedTuple):
    product: Product
    api: Api


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Three days of a perp and of spot, landed in two windows; a later file has ten of the perp's minutes otherwise."""
    product = Product(tmp_path_factory.mktemp("files"))
    spot = {t: one for n, (t, one) in enumerate(SPOT.items()) if n not in NO_TRADE}
    product.land([file_row("perp", PERP | LATELY | NEAR, START), file_row("spot", spot, START)])
    product.record((BINANCE,), [Moment(START)])
    product.land([file_row("perp", CORRECTED, START + MINUTE)])
    product.build()
    product.publish()
    with product.served() as api:
        yield Served(product, api)


def expected(rows: Minutes, step: int, start: int, end: int, of: Callable[[list[Minute]], float]) -> dict[int, float]:
    """Per bucket what a plain loop over the file's lines gives."""
    buckets = defaultdict[int, list[Minute]](list)
    for t, one in sorted(rows.items()):
        if start <= t < end:
            buckets[t - t % step].append(one)
    return {t: of(found) for t, found in buckets.items()}


@pytest.mark.requirement("series:files")
@pytest.mark.parametrize(("step", "since", "hours"), [
    ("1m", PAST + 12 * HOUR, 20), ("5m", PAST + 12 * HOUR, 48), ("15m", PAST + 12 * HOUR, 60),
    ("1m", min(LATELY), 23), ("5m", min(LATELY) + HOUR, 23), ("15m", min(LATELY), 24),
])  # fmt: skip
def test_a_series_of_the_past_is_what_the_files_say(served: Served, step: str, since: int, hours: int) -> None:
    width = int(step[:-1]) * MINUTE
    start, end = since, since + hours * HOUR
    truth = PERP | CORRECTED | LATELY
    span = {"start": start, "end": end, "step": step}
    for metric, of in (
        ("volume", lambda found: sum(one.volume for one in found)),
        ("price", lambda found: found[-1].close),
        ("taker-flow", lambda found: sum(one.bought for one in found)),
    ):
        wanted = expected(truth, width, start, end, of)
        for selected in ({"base": "BTC"}, {"base": "BTC", "venue": "binance"}, {"market": "binance:perp:BTCUSDT"}):
            got = served.api.series(metric, **selected, **span, coverage="1")
            name = got["fields"][0]
            assert (got["step"], got["t"]) == (width, sorted(wanted)), (metric, selected)
            assert got[name] == pytest.approx([wanted[t] for t in got["t"]], rel=1e-12), (metric, selected)
            assert (set(got["origin"]), set(got["n"])) == ({"backfilled"}, {1})
            assert got["source"].startswith(f"files_{step}@")


@pytest.mark.requirement("series:files", "series:candles")
@pytest.mark.parametrize("step", ["1m", "5m", "15m", "1h", "4h", "1d"])
def test_candles_of_the_past_are_those_of_the_files(served: Served, step: str) -> None:
    truth = PERP | CORRECTED
    width = UNIT_MS[step[-1]] * int(step[:-1])
    # Hours are those of the file that was landed last, which has ten minutes of the second day.
    start = PAST - PAST % DAY + (2 * DAY if width >= HOUR else DAY)
    end = start + DAY
    got = served.api.series("candles", market="binance:perp:BTCUSDT", start=start, end=end, step=step, coverage="1")
    wanted = {
        "open": expected(truth, width, start, end, lambda found: found[0].open),
        "high": expected(truth, width, start, end, lambda found: max(one.high for one in found)),
        "low": expected(truth, width, start, end, lambda found: min(one.low for one in found)),
        "close": expected(truth, width, start, end, lambda found: found[-1].close),
    }
    for name, values in wanted.items():
        assert (got["step"], got["t"], got[name]) == (width, list(values), list(values.values())), name
    assert (set(got["origin"]), set(got["n"])) == ({"backfilled"}, {1})


@pytest.mark.requirement("series:files")
def test_both_kinds_of_market_are_one_sum_and_minutes_without_a_trade_are_absent(served: Served) -> None:
    span = {"start": PAST, "end": PAST + 100 * MINUTE, "step": "1m"}
    spot = served.api.series("volume", base="BTC", type="spot", **span)
    both = served.api.series("volume", base="BTC", type="all", **span)
    lacking = [PAST + n * MINUTE for n in NO_TRADE]
    assert sorted({PAST + n * MINUTE for n in range(100)} - set(spot["t"])) == lacking
    perp = dict(zip(PERP, (one.volume for one in PERP.values()), strict=True))
    sums = {t: perp[t] + (0 if t in lacking else SPOT[t].volume) for t in both["t"]}
    assert both["v"] == pytest.approx(list(sums.values()), rel=1e-12)


@pytest.mark.requirement("series:files")
def test_a_free_step_is_the_finest_that_files_have(served: Served) -> None:
    """A day is 1,440 minutes; where the files have no start, and of open interest, hours are served as before."""
    for asked in ({}, {"step": "auto"}):
        assert served.api.series("price", base="BTC", start=PAST, range="1d", **asked)["step"] == MINUTE
    assert served.api.series("price", base="BTC", start=PAST, range="3d")["step"] == 5 * MINUTE
    assert served.api.series("price", base="BTC", start=PAST - DAY, range="1d")["step"] == HOUR
    assert served.api.series("price", base="ETH", start=PAST, range="1d")["step"] == HOUR
    assert served.api.series("oi", base="BTC", start=PAST, range="1d")["step"] == HOUR
    text = served.api.get(f"/api/series/price?base=BTC&start={PAST}&range=1h&step=1m&format=csv").body.decode()
    assert len(text.splitlines()) == 62
    explained = served.api.get(f"/api/explain?metric=volume&base=BTC&t={PAST}").json
    assert explained["step"] == HOUR


@pytest.mark.requirement("series:files")
def test_each_window_has_a_file_and_hours_are_those_of_its_minutes(served: Served) -> None:
    folder = served.product.settings.api_minutes
    assert folder
    written = {file.parent.name: pq.read_table(file).num_rows for file in folder.glob("*/*.parquet")}
    assert sorted(written.values()) == [10, len(PERP) + len(LATELY) + len(NEAR) + len(SPOT) - len(NO_TRADE)]
    start = PAST + 2 * DAY
    got = served.api.series("volume", market="binance:perp:BTCUSDT", start=start, end=start + 5 * HOUR, step="1h")
    wanted = expected(PERP, HOUR, start, start + 5 * HOUR, lambda found: sum(one.volume for one in found))
    assert got["v"] == pytest.approx(list(wanted.values()), rel=1e-12)


@pytest.mark.requirement("series:files")
def test_without_its_files_a_series_is_unavailable(served: Served, tmp_path: Path) -> None:
    """Another host may not have them yet."""
    folder = served.product.settings.api_minutes
    assert folder
    moved = folder.rename(tmp_path / "elsewhere")
    folder.mkdir()
    try:
        answer = served.api.get(f"/api/series/price?base=BTC&start={PAST + HOUR}&range=1h&step=1m")
        assert (answer.json["db"], answer.json["error"], answer.json["t"]) == (False, "unavailable", [])
        assert served.api.get("/api/series/price?base=BTC&range=1h").status == 200
    finally:
        folder.rmdir()
        moved.rename(folder)


@pytest.mark.requirement("series:files")
def test_sums_across_the_border_are_the_same_at_every_step(served: Served) -> None:
    """Fetched minutes up to the first recorded one, and the bars that the recorder's first requests bring: what is not
    whole is marked."""
    everything = served.api.series("volume", base="BTC", start=YESTERDAY, end=YESTERDAY + DAY, step="1m")
    assert everything["v"] == pytest.approx([NEAR[t].volume for t in everything["t"]], rel=1e-12)
    for metric in ("volume", "taker-flow", "cvd"):
        for selected in ({"base": "BTC"}, {"base": "BTC", "venue": "binance"}, {"market": "binance:perp:BTCUSDT"}):
            for start, end in ((YESTERDAY, YESTERDAY + DAY), (START - 4 * HOUR, START + HOUR)):
                sums = {}
                for step in ("1m", "5m", "15m", "1h", "4h", "1d"):
                    if start % served.api.series(metric, **selected, step=step, start=start, end=end)["step"]:
                        continue
                    got = served.api.series(metric, **selected, step=step, start=start, end=end, coverage="1")
                    sums[step] = sum(got[got["fields"][0]])
                    short = [t for t, n, many in zip(got["t"], got["n"], got["expected"], strict=True) if n < many]
                    marked = [(gap["start"], gap["end"]) for gap in got["gaps"]]
                    assert [
                        t for t in short if not any(since < t + got["step"] and t < until for since, until in marked)
                    ] == []
                    mixed = {t for t, origin in zip(got["t"], got["origin"], strict=True) if origin == "mixed"}
                    assert mixed <= {t for t in got["t"] if t + got["step"] > START - 100 * MINUTE}, (metric, step)
                assert len(sums) >= 4
                assert list(sums.values()) == pytest.approx([sums["1m"]] * len(sums), rel=1e-9), (metric, selected)


FIRST = YESTERDAY - 2 * DAY
RECORDED = [FIRST + 12 * HOUR, FIRST + 12 * HOUR + MINUTE, FIRST + DAY + 23 * HOUR, YESTERDAY + 4 * HOUR]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Settings]:
    """A home that recorded some minutes of two finished days and of a third; and the same whose tiers of minutes have
    the last day alone, while its bulk files have all."""
    product = Product(tmp_path_factory.mktemp("whole"))
    product.record((BINANCE,), [Moment(minute) for minute in RECORDED])
    whole = product.settings
    assert write_bulk(whole, lambda _: None).files
    home = tmp_path_factory.mktemp("trimmed") / "home"
    shutil.copytree(whole.home, home, ignore=shutil.ignore_patterns("*.sock"))
    trimmed = Settings.from_env({**os.environ, "TIDEMARK_HOME": str(home)})
    edition = publish(trimmed, force=True)
    assert edition is not None
    kept_from = edition.as_of_ms - DAY
    with duckdb.connect(str(trimmed.serving / edition.replica)) as con:
        for step in ("1m", "5m"):
            con.execute(f"update tiers set keep_days = 1 where step = '{step}'")
            con.execute(f"delete from series_market_{step} where t < {kept_from}")
            con.execute(f"delete from series_base_{step} where t < {kept_from}")
    return whole, trimmed


def rounded(values: list[Any]) -> list[Any]:
    return [float(f"{value:.9g}") if isinstance(value, float) else value for value in values]


@pytest.mark.requirement("series:files")
def test_what_a_tier_no_longer_has_is_read_from_bulk_files(homes: tuple[Settings, Settings]) -> None:
    """Each metric of the series tiers, as the home answers that still has the days: also across the tier's edge."""
    spans = [
        ("1m", RECORDED[0] - HOUR, RECORDED[0] + HOUR),
        ("5m", FIRST, FIRST + DAY),
        ("5m", FIRST + DAY, YESTERDAY + 5 * HOUR),
    ]
    asked = 0
    with ExitStack() as stack:
        whole, trimmed = (
            stack.enter_context(running(home.serving, free_port(), now_ms=RECORDED[-1] + 30_000, bulk=home.bulk))
            for home in homes
        )
        for metric in [one for one in whole.get("/api/metrics").json["metrics"] if one["known_later"]]:
            for selected in ({"base": "BTC"}, {"base": "BTC", "venue": "binance"}, {"market": "binance:perp:BTCUSDT"}):
                for step, start, end in spans:
                    if step not in metric["steps"] or not selected.keys() & set(metric["selectors"]):
                        continue
                    query = {**selected, "step": step, "start": start, "end": end, "coverage": "1"}
                    first, second = (one.series(metric["metric"], **query) for one in (whole, trimmed))
                    assert first["source"].startswith(f"series_{step}@")
                    assert second["source"].startswith(f"files_{step}@")
                    assert second["t"] == first["t"], (metric["metric"], query)
                    for name in {*first["fields"], "n", "origin"} & first.keys():
                        assert rounded(second[name]) == rounded(first[name]), (metric["metric"], query, name)
                    asked += bool(first["t"])
    assert asked > 30


@pytest.mark.requirement("series:files")
def test_a_server_without_the_bulk_files_says_how_far_its_tier_reaches(homes: tuple[Settings, Settings]) -> None:
    """Without the folder the edition is answered as if it listed none; a file that is gone from it is named."""
    query = {"base": "BTC", "step": "1m", "start": RECORDED[0] - HOUR, "end": RECORDED[0] + HOUR}
    home, now_ms = homes[1], RECORDED[-1] + 30_000
    with running(home.serving, free_port(), now_ms=now_ms) as api:
        assert api.series("price", **query)["step"] > MINUTE
    with running(home.serving, free_port(), now_ms=now_ms, bulk=home.bulk) as api:
        assert api.series("price", **query)["step"] == MINUTE
        for version in (home.bulk / ".versions/series_market_1m").rglob("*.parquet"):
            version.unlink()
        gone = api.series("oi", **query)
        assert gone["error"] == "unavailable"
