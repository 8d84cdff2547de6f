"""Files of an archive: listed, verified, unzipped; fetched once, and again when replaced; defects are named."""

import asyncio
import gzip
import hashlib
import io
import itertools
import json
import threading
import zipfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pytest

from ingest.backfill import backfill as module
from ingest.backfill import files
from ingest.backfill.backfill import Pace, backfill
from ingest.backfill.files import (
    File,
    Unpacking,
    md5_of_etag,
    read_checksum,
    read_list,
    rows_of,
    version_of,
    without_covered,
)
from ingest.backfill.loads import Served
from ingest.backfill.progress import BackfillState
from ingest.backfill.wanted import Wanted
from ingest.declaration.archive import Archive
from ingest.declaration.venue import Venue
from ingest.recorder.clock import now_ms
from ingest.venues import VENUES
from sandbox.derived.positioning import long_of_late
from sandbox.market.derivatives import liquidations, open_interest
from sandbox.market.world import World
from sandbox.server import create_app, serving
from sandbox.venues.binance import archive as simulated
from sandbox.venues.bitget import archive as simulated_bitget
from sandbox.venues.gate import archive as simulated_gate
from sandbox.venues.hyperliquid import archive as simulated_hyperliquid
from sandbox.venues.kucoin import archive as simulated_kucoin
from sandbox.venues.okx import archive as simulated_okx
from sandbox.wire.files import pack
from sandbox.wire.settlements import settlements
from tests.ingest.backfill.test_backfill import bountiful, landed
from tests.support.pipeline.warehouse import response, seeded
from tests.support.start import clock_from, start_ms

BINANCE = next(venue for venue in VENUES if venue.name == "binance")
ARCHIVE, PERP_MINUTES, SPOT_MINUTES, FUNDING, *MARKS, LIQUIDATIONS = BINANCE.archives
DAY = 86_400_000
LISTED = """<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>{more}</IsTruncated>
<Contents><Key>data/futures/um/daily/metrics/A/A-metrics-2026-07-28.zip</Key><ETag>&quot;e1&quot;</ETag><Size>5</Size></Contents>
<Contents><Key>data/futures/um/daily/metrics/A/A-metrics-2026-07-28.zip.CHECKSUM</Key><ETag>&quot;c&quot;</ETag><Size>9</Size>
</Contents></ListBucketResult>"""


def zipped(*members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for number, content in enumerate(members):
            file.writestr(f"{number}.csv", content)
    return packed.getvalue()


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def test_a_list_has_its_files_and_where_it_goes_on() -> None:
    [file], more = read_list(LISTED.format(more="false"), ARCHIVE)
    assert (file.path.rpartition("/")[2], file.day, file.until, file.etag, file.size, more) == (
        "A-metrics-2026-07-28.zip", date(2026, 7, 28), date(2026, 7, 29), "e1", 5, None,
    )  # fmt: skip
    assert read_list(LISTED.format(more="true"), ARCHIVE)[1] == f"{file.path}.CHECKSUM"
    with pytest.raises(ValueError, match="not XML"):
        read_list("<html>", ARCHIVE)


def test_a_file_of_a_month_stands_for_its_days() -> None:
    month = File("2026-06", date(2026, 6, 1), date(2026, 7, 1))
    days = [File(f"{day}", day, date(day.year, day.month, day.day + 1)) for day in (date(2026, 6, 5), date(2026, 7, 5))]
    assert without_covered([*days, month]) == [days[1], replace(month, of_days=(days[0],))]
    assert without_covered(days) == days


def test_a_checksum_is_a_digest() -> None:
    digest, short = sha256(b"x"), hashlib.md5(b"x", usedforsecurity=False).hexdigest()
    assert read_checksum(f"{digest.upper()}  x.zip\n", "sha256") == digest
    assert read_checksum(f"{short}\n", "md5") == short
    for text in ("", "not found", digest[:-1], short):
        with pytest.raises(ValueError, match="not sha256"):
            read_checksum(text, "sha256")
    assert (md5_of_etag(short), md5_of_etag(f"{short}-7"), md5_of_etag("")) == (short, None, None)


def test_rows_are_counted_once_and_without_a_header() -> None:
    assert rows_of("open_time,open\n1,2\n2,2\n1,2\n3,3") == 3


def test_a_response_says_which_version_of_a_file_it_is() -> None:
    dated = {"Last-Modified": "Mon, 23 Nov 2026 00:00:00 GMT", "Content-Length": "5"}
    assert version_of({"ETag": '"abc"', **dated}) == "abc"
    assert version_of(dated) == "Mon, 23 Nov 2026 00:00:00 GMT 5"
    assert version_of({"Content-Length": "5"}) == ""


def test_one_member_with_the_checksum_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    good, long = zipped(b"a,b\n"), b"\0" * 1001
    unpacking = Unpacking("zip", "sha256", sha256(good))
    assert (unpacking(good), unpacking.sha256) == (b"a,b\n", sha256(good))
    assert Unpacking("zip", "md5", None)(good) == b"a,b\n", "nothing states its checksum"
    packed = gzip.compress(b"a,b\n")
    md5 = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    assert Unpacking("gzip", "md5", md5)(packed) == b"a,b\n"
    frames = lz4.frame.compress(b"a,b\n") + lz4.frame.compress(b"c,d\n")
    assert Unpacking("lz4", "md5", None)(frames) == b"a,b\nc,d\n", "nothing after the first frame is lost"
    assert Unpacking("gzip", "md5", None)(packed + gzip.compress(b"c,d\n")) == b"a,b\nc,d\n"
    monkeypatch.setattr(files, "MOST_BYTES", 2000)
    sheet = pack("a.xlsx", ["a,b", "1788192000,0.003"], "xlsx")
    assert Unpacking("xlsx", "md5", None)(sheet) == b"a,b\n1788192000,0.003\n"
    with pytest.raises(ValueError, match="the sheet is longer than"):
        Unpacking("xlsx", "md5", None)(pack("a.xlsx", ["a" * 4000], "xlsx"))
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    for packing, raw, digest, message in (
        ("zip", good + b"!", sha256(good), "the checksum is"), ("zip", zipped(b"a", b"b"), None, "2 members"),
        ("zip", b"PK no", None, "not a readable ZIP"), ("zip", zipped(long), None, "longer than"),
        ("gzip", b"no", None, "not a readable gzip"), ("gzip", packed[:-9], None, "cut off"),
        ("gzip", gzip.compress(long), None, "longer than"), ("lz4", b"no LZ4 at all", None, "not a readable LZ4"),
        ("xlsx", zipped(b"no"), None, "not a readable sheet"),
        ("xlsx", zipped(zipped(b"a")), None, "not a readable sheet"),
        ("lz4", lz4.frame.compress(long), None, "longer than"),
        ("lz4", lz4.frame.compress(good)[:-9], None, "cut off"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Unpacking(packing, "sha256", digest)(raw)  # type: ignore[arg-type]


class Archived:
    """A home into which the newest days of two markets are fetched from the simulated archive, as often as is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world: World | None = None

    def fetch(self, days: int, *archives: Archive, of: Venue = BINANCE, **more: Any) -> BackfillState:
        venue = replace(bountiful(of), archives=archives or (replace(ARCHIVE, top=2),))

        app = create_app(rate_limits=False)

        async def run() -> BackfillState:
            async with serving(app) as url:
                kinds = [archive.name for archive in venue.archives]
                wanted = Wanted([of.name], kinds, now_ms() - days * DAY, **more)
                where = (self.folder / "home", str(self.folder / "landing"), url, wanted)
                return await backfill(*where, venues=[venue], pace=Pace(again_s=()))

        with clock_from(start_ms()):
            state = asyncio.run(run())
        self.world = app.ctx.sandbox.world
        return state

    def files(self) -> list[str]:
        """The names of the landed files."""
        return sorted(json.loads(row["params"])["file"] for row in landed(self.folder / "landing"))


@pytest.fixture
def archived(tmp_path: Path) -> Archived:
    return Archived(tmp_path)


def test_new_and_replaced_files_are_fetched_and_no_others(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MISSING", 0.0)
    state = archived.fetch(2)
    assert (state.state, state.failed) == ("done", [])
    first = archived.files()
    assert len(first) == 2 * len({name.partition("-")[0] for name in first}) == 4
    # Two days more, and nothing that is there.
    archived.fetch(4)
    assert len(archived.files()) == 8
    # Another ETag is another file.
    monkeypatch.setattr(simulated, "RELEASE", 2)
    archived.fetch(2)
    assert len(archived.files()) == 12
    archived.fetch(4, again=True)
    assert len(archived.files()) == 20


def test_an_estimate_lists_the_files_and_fetches_none(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MISSING", 0.0)
    state = archived.fetch(30, symbols=["BTCUSDT", "GONEUSDT"], dry_run=True)
    [estimate] = state.estimates["binance"]
    assert (estimate.markets, estimate.files, estimate.requests, estimate.file_bytes) == (1, 30, 60, 330_000)
    assert state.failed == ["GONEUSDT: no exchange has a market of this symbol"]
    assert not archived.files()
    assert not (archived.folder / "home" / "state.json").exists()


def test_damaged_and_missing_files_are_named_and_the_others_are_fetched(
    archived: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "MISSING", 0.25)
    monkeypatch.setattr(simulated, "WRONG_CHECKSUM", 0.25)
    state = archived.fetch(20)
    [absent] = state.absent.values()
    assert absent["missing"] > 0
    assert state.state == "partly"
    assert state.failed
    assert "the checksum is" in str(state.venues["binance"].last_error)
    # The oldest days may be absent too: nothing says that the market was listed by then.
    counted = len(archived.files()) + len(state.failed) + absent["missing"] + absent["unpublished"]
    assert 30 < counted <= 40
    assert archived.files()


def test_the_views_read_files_at_the_instants_that_they_mean(archived: Archived, tmp_path: Path) -> None:
    """Against the simulated market itself; each row once, though some files have every row twice."""
    archived.fetch(2)
    (tmp_path / "warehouse").mkdir()
    warehouse = seeded(tmp_path / "warehouse")
    warehouse.build(landed(archived.folder / "landing"), "raw_window")
    world = archived.world
    assert world is not None
    row = world.universe.row["binance", "perp", "BTCUSDT"]
    held = warehouse.rows(
        "select distinct t, open_interest, reject from stg_binance__metrics_files where symbol = 'BTCUSDT' order by t"
    )
    assert len(held) >= 288
    assert {reject for *_, reject in held} == {None}
    minutes = np.array([t // 60_000 for t, *_ in held])
    size = open_interest(world.market, np.array([row]), minutes)[0]
    assert [value for _, value, _ in held] == pytest.approx(size.tolist())
    for kind in ("accounts", "top_accounts", "top_positions"):
        rows = warehouse.rows(
            f"select distinct t - period_ms, long_short_{kind} from stg_binance__metrics_files "
            "where symbol = 'BTCUSDT' order by 1"
        )
        starts = np.array([t // 60_000 for t, _ in rows])
        longs = np.rint(long_of_late(world, row, kind, starts) * 1e4) / 1e4
        assert [value for _, value in rows] == pytest.approx(longs.tolist(), abs=1e-8)


def test_minutes_and_settlements_of_files_are_those_of_the_market(
    archived: Archived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of each closed month and of the days since; rows that are there twice, with and without a header;
    contracts and coins of COIN-M."""
    monkeypatch.setattr(simulated, "MISSING", 0.0)
    monkeypatch.setattr(simulated, "DOUBLED", 0.5)
    monkeypatch.setattr(simulated, "HEADERLESS", 0.5)
    state = archived.fetch(3, PERP_MINUTES, SPOT_MINUTES, *MARKS, symbols=["BTCUSDT"])
    days = len(archived.files())
    state = archived.fetch(40, FUNDING, symbols=["BTCUSDT"])
    assert (state.state, days) == ("done", 15)
    state = archived.fetch(3, PERP_MINUTES, ARCHIVE, symbols=["BTCUSD_PERP"])
    assert (state.state, state.failed) == ("done", [])
    (tmp_path / "warehouse").mkdir()
    warehouse = seeded(tmp_path / "warehouse")
    warehouse.build(landed(archived.folder / "landing"), "raw_window")
    world = archived.world
    assert world is not None
    for kind in ("perp", "spot"):
        row = world.universe.row["binance", kind, "BTCUSDT"]
        found = warehouse.rows(
            f"select distinct opened_ms, closed_ms, open, high, low, close, turnover, taker_buy_turnover, reject"
            f" from stg_binance__{kind}_bars_files where symbol = 'BTCUSDT' order by opened_ms"
        )
        bars = world.bars(row, found[0][0] // 60_000, len(found))
        assert [at for at, *_ in found] == list(range(found[0][0], found[0][0] + 3 * DAY, 60_000))
        assert {closed - at for at, closed, *_ in found} == {59_999}
        assert {reject for *_, reject in found} == {None}
        truth = (bars.open, bars.high, bars.low, bars.close, bars.quote_volume, bars.quote_volume * bars.taker_buy)
        for number, column in enumerate(truth, start=2):
            assert [one[number] for one in found] == pytest.approx(column[0].tolist(), rel=1e-4), (kind, number)
    settled = warehouse.rows("select distinct settled_ms, interval_h, funding_rate from stg_binance__settlements_files")
    row = world.universe.row["binance", "perp", "BTCUSDT"]
    truth_of = {at: (hours, rate) for at, rate, hours in settlements(world, row, start_ms(), 400)}
    assert len(settled) >= 28 * 3
    for at, hours, rate in settled:
        expected_hours, expected_rate = truth_of[at - at % 60_000]
        assert (hours, rate) == (expected_hours, pytest.approx(expected_rate, abs=1e-8))
    marks, index, premiums = (
        warehouse.rows(f"select distinct opened_ms, open, close from stg_binance__{kind}_bars_files order by opened_ms")
        for kind in ("mark", "index", "premium")
    )
    minutes = np.array([at // 60_000 for at, *_ in marks])
    rows = np.array([row])
    logs, above = world.market.index_logs(rows, minutes)[0], world.market.premium(rows, minutes)[0]
    for values, exact in ((index, np.exp(logs)), (marks, np.exp(logs + above)), (premiums, np.expm1(above))):
        assert len(values) == 3 * 1440
        assert [opened for _, opened, _ in values] == pytest.approx(exact.tolist(), rel=1e-6, abs=1e-8)
        assert [closed for _, _, closed in values[:-1]] == [opened for _, opened, _ in values[1:]]
    row = world.universe.row["binance", "perp", "BTCUSD_PERP"]
    usd = world.universe.listings[row].contract_size
    found = warehouse.rows(
        "select distinct opened_ms, volume, volume_contracts, taker_buy_contracts, turnover, reject"
        " from stg_binance__perp_bars_files where symbol = 'BTCUSD_PERP' order by opened_ms"
    )
    bars = world.bars(row, found[0][0] // 60_000, len(found))
    assert {one[-2:] for one in found} == {(None, None)}
    sizes = (bars.volume, bars.quote_volume / usd, bars.quote_volume * bars.taker_buy / usd)
    for number, column in enumerate(sizes, start=1):
        rounded = 0.51 if number > 1 else 0.0
        assert [one[number] for one in found] == pytest.approx(column[0].tolist(), rel=1e-6, abs=rounded)
    held = warehouse.rows(
        "select t, open_interest, open_contracts, open_interest_usd, reject from stg_binance__metrics_files"
    )
    size = open_interest(world.market, np.array([row]), np.array([at // 60_000 for at, *_ in held]))[0]
    assert [one[1] for one in held] == pytest.approx(size.tolist())
    assert {one[3:] for one in held} == {(None, None)}
    assert 1e4 < held[0][2] * usd / held[0][1] < 1e6, "the price of a bitcoin"
    assert warehouse.rows(
        "select count(long_short_accounts), count(long_short_top_accounts) > 0 from stg_binance__metrics_files"
    ) == [(0, True)]


def test_old_liquidations_are_a_sample_of_the_markets(
    archived: Archived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, though the files have them twice; nothing is awaited after the last file."""
    monkeypatch.setattr(simulated, "MISSING", 0.0)
    for symbol, first in (("BTCUSDT", "2024-03-30"), ("BTCUSD_PERP", "2024-10-13")):
        began = datetime.fromisoformat(first).replace(tzinfo=UTC)
        days = -(-(start_ms() - int(began.timestamp()) * 1000) // DAY)
        state = archived.fetch(days, LIQUIDATIONS, symbols=[symbol])
        assert (state.state, state.failed, state.absent) == ("done", [], {})
    (tmp_path / "warehouse").mkdir()
    warehouse = seeded(tmp_path / "warehouse")
    warehouse.build(landed(archived.folder / "landing"), "raw_window")
    world = archived.world
    assert world is not None
    for symbol, size in (("BTCUSDT", "size"), ("BTCUSD_PERP", "size_contracts")):
        query = f"select ts, side, price, {size}, count(*), any_value(reject) from stg_binance__liquidations_files"
        found = warehouse.rows(f"{query} where symbol = '{symbol}' group by all order by ts")
        row = world.universe.row["binance", "perp", symbol]
        first, last = found[0][0] // DAY, found[-1][0] // DAY
        true = liquidations(world.market, np.array([row]), np.arange(first * 1440, (last + 1) * 1440))
        seconds = {at // 1000: n for n, at in reversed(list(enumerate(true.ts.tolist())))}
        assert [one[0] for one in found] == [true.ts[n] for n in sorted(seconds.values())]
        assert {one[4:] for one in found} == {(2, None)}
        usd = world.universe.listings[row].contract_size
        for (_, side, price, filled, *_), n in zip(found, sorted(seconds.values()), strict=True):
            assert (side, price) == ("long" if true.long[n] else "short", pytest.approx(true.price[n]))
            contracts = max(1, round(true.size[n] * true.price[n] / usd))
            assert filled == (contracts if size == "size_contracts" else pytest.approx(true.size[n]))


@pytest.mark.parametrize(("name", "symbol", "pair", "size"), [
    ("okx", "BTC-USDT-SWAP", "BTC-USDT", "volume"), ("gate", "BTC_USDT", "BTC_USDT", "volume_contracts"),
    ("kucoin", "XBTUSDTM", "BTC-USDT", "volume_contracts"), ("bitget", "BTCUSDT", "BTCUSDT", "volume"),
])  # fmt: skip
def test_minutes_of_other_venues_are_those_of_the_market(
    name: str, symbol: str, pair: str, size: str, archived: Archived, tmp_path: Path
) -> None:
    """A file of all swaps or pairs and of days in UTC+8; gzip by the month; other checksums and other symbols."""
    venue = next(one for one in VENUES if one.name == name)
    state = archived.fetch(40 if name == "gate" else 4, *venue.archives, of=venue, symbols=[symbol, pair])
    assert (state.failed, state.state) == ([], "done")
    (tmp_path / "warehouse").mkdir()
    warehouse = seeded(tmp_path / "warehouse")
    warehouse.build(landed(archived.folder / "landing"), "raw_window")
    world = archived.world
    assert world is not None
    for kind, of in (("perp", symbol), ("spot", pair)):
        row, column = world.universe.row[name, kind, of], size if kind == "perp" else "volume"
        found = warehouse.rows(
            f"select opened_ms, open, high, low, close, {column}, reject, outside from stg_{name}__{kind}_bars_files"
            f" where symbol = '{of}' order by opened_ms limit 3000"
        )
        assert {bar[-2:] for bar in found} == {(None, 0)}
        first = found[0][0] // 60_000
        assert first % 1440 == (16 * 60 if name in ("okx", "bitget") else 0), "when the file's day begins"
        assert len({at for at, *_ in found}) == len(found) > (2000 if name != "gate" else 2900)
        bars = world.bars(row, first, found[-1][0] // 60_000 - first + 1)
        lot = 1.0 if column == "volume" else world.universe.listings[row].contract_size
        for number, values in enumerate((bars.open, bars.high, bars.low, bars.close), start=1):
            truth = [float(values[0][at // 60_000 - first]) for at, *_ in found]
            assert [bar[number] for bar in found] == pytest.approx(truth, rel=1e-4)
        truth = [float(bars.volume[0][at // 60_000 - first]) / lot for at, *_ in found]
        assert [bar[5] for bar in found] == pytest.approx(truth, rel=1e-3, abs=1)
    if name == "bitget":
        return
    settled = warehouse.rows(
        f"select distinct settled_ms, funding_rate from stg_{name}__settlements_files where symbol = '{symbol}'"
    )
    row = world.universe.row[name, "perp", symbol]
    rates = {at: rate for at, rate, _ in settlements(world, row, start_ms(), 400)}
    assert len(settled) >= 3
    for at, rate in settled:
        assert rate == pytest.approx(rates[at - at % 60_000], abs=1e-6)


def test_days_come_where_there_is_no_file_of_the_month(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no list: what is forbidden is absent and no ban, and the next fetch asks for the day again."""
    monkeypatch.setattr(simulated_bitget, "MISSING", 0.0)
    venue = next(one for one in VENUES if one.name == "bitget")
    perps = replace(venue.archives[0], top=1)
    at = datetime.fromtimestamp(start_ms() / 1000, UTC)
    month = (at - timedelta(days=45)).replace(day=1)
    days, end_ms = (at - month).days + 2, int(month.timestamp() * 1000) + 31 * DAY
    monkeypatch.setattr(simulated_bitget, "MONTHS_FROM", date(2099, 1, 1))
    state = archived.fetch(days, perps, of=venue, symbols=["BTCUSDT"], end_ms=end_ms)
    names = archived.files()
    assert (state.state, state.failed, state.absent) == ("done", [], {})
    assert len(names) == len(set(names)) >= 28
    assert f"BTCUSDT_UMCBL_1min_{month:%Y%m}15.zip" in names
    # Nothing has changed: the days are not fetched again.
    archived.fetch(days, perps, of=venue, symbols=["BTCUSDT"], end_ms=end_ms)
    assert archived.files() == names
    monkeypatch.setattr(simulated_bitget, "MONTHS_FROM", date(2020, 1, 1))
    archived.fetch(days, perps, of=venue, symbols=["BTCUSDT"], end_ms=end_ms)
    assert [name for name in archived.files() if name not in names] == [f"BTCUSDT_UMCBL_1min_{month:%Y%m}.zip"]
    monkeypatch.setattr(simulated_bitget, "MISSING", 1.0)
    state = archived.fetch(12, perps, of=venue, symbols=["ETHUSDT"])
    absent = state.absent["bitget perp_minutes_history"]
    assert absent["missing"] + absent["unpublished"] == 12
    assert (state.state, state.venues["bitget"].last_error) == ("done", None)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of somebody who pays for the transfer."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.mark.usefixtures("aws")
def test_paid_contexts_are_the_open_interest_of_the_market(
    archived: Archived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each coin and five minutes, also where the file's minute is early; both sides, which counts once."""
    monkeypatch.setattr(simulated_hyperliquid, "MISSING", 0.0)
    monkeypatch.setattr(simulated_hyperliquid, "EARLY", 0.5)
    venue = next(one for one in VENUES if one.name == "hyperliquid")
    for _ in range(2):
        state = archived.fetch(2, *venue.archives, of=venue)
        assert (state.failed, state.state, len(archived.files())) == ([], "done", 2), "an unchanged file is left"
    (tmp_path / "warehouse").mkdir()
    warehouse = seeded(tmp_path / "warehouse")
    warehouse.build(landed(archived.folder / "landing"), "raw_window")
    found = warehouse.rows(
        "select t, open_interest, open_interest_usd, reject, outside from stg_hyperliquid__open_interest_files"
        " where symbol = 'BTC' order by t"
    )
    assert {row[-2:] for row in found} == {(None, 0)}
    first = start_ms() // DAY * DAY - 2 * DAY
    assert [t for t, *_ in found] == list(range(first, first + 2 * DAY, 300_000))
    world = archived.world
    assert world is not None
    rows, minutes = (
        np.array([world.universe.row["hyperliquid", "perp", "BTC"]]),
        np.array([t for t, *_ in found]) // 60_000,
    )
    held = open_interest(world.market, rows, minutes)[0]
    mark = np.exp(world.market.index_logs(rows, minutes)[0]) * (1 + world.market.premium(rows, minutes)[0])
    assert [row[1] for row in found] == pytest.approx((2 * held).tolist(), rel=1e-6)
    assert [row[2] for row in found] == pytest.approx((2 * held * mark).tolist(), rel=1e-4)


def test_what_costs_money_is_fetched_by_name_and_with_credentials_alone(
    archived: Archived, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    venue = next(one for one in VENUES if one.name == "hyperliquid")
    [contexts] = venue.archives
    assert not Wanted(["hyperliquid"]).has(contexts)
    assert Wanted(["hyperliquid"], ["contexts_history"]).has(contexts)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    state = archived.fetch(2, contexts, of=venue)
    [failed] = state.failed
    assert failed.startswith("contexts_history: ")
    assert "nobody" in failed
    assert failed.endswith("or name a folder with the files by --folder")
    assert (state.state, archived.files()) == ("partly", [])
    estimate = archived.fetch(2, contexts, of=venue, dry_run=True).estimates["hyperliquid"]
    assert [(one.files, one.file_bytes) for one in estimate] == [(2, None)]


def test_files_in_a_folder_are_read_once_and_again_when_they_change(archived: Archived, tmp_path: Path) -> None:
    """Of one archive by their names, wherever they lie; damaged ones are named; a checksum beside a file counts."""
    venue = next(one for one in VENUES if one.name == "hyperliquid")
    folder, day = tmp_path / "files", datetime.fromtimestamp(start_ms() / 1000, UTC).date() - timedelta(days=1)
    (folder / "below").mkdir(parents=True)
    packed = lz4.frame.compress(b"time,coin\n2026-01-01T00:00:00Z,BTC\n")
    name = f"{day:%Y%m%d}.csv.lz4"
    (folder / "below" / name).write_bytes(packed)
    (folder / f"{day - timedelta(days=1):%Y%m%d}.csv.lz4").write_bytes(packed[:-9])
    (folder / f"{day - timedelta(days=9):%Y%m%d}.csv.lz4").write_bytes(b"of another day")
    for expected in ([name], [name]):
        state = archived.fetch(2, *venue.archives, of=venue, folder=folder)
        assert archived.files() == expected
        assert [text for text in state.failed if "hyperliquid" in text]
        assert "the LZ4 file is cut off" in str(state.venues["hyperliquid"].last_error)
    (folder / "below" / name).write_bytes(lz4.frame.compress(b"time,coin\n2026-01-01T00:00:00Z,ETH\n"))
    archived.fetch(2, *venue.archives, of=venue, folder=folder)
    assert archived.files() == [name, name]
    bodies = [row["body"] for row in landed(archived.folder / "landing")]
    assert sorted(body[-4:] for body in bodies) == ["BTC\n", "ETH\n"]


def test_a_folder_of_binance_has_the_files_of_a_market_and_their_checksums(archived: Archived, tmp_path: Path) -> None:
    day = datetime.fromtimestamp(start_ms() / 1000, UTC).date() - timedelta(days=1)
    right, wrong = f"BTCUSDT-metrics-{day}.zip", f"ETHUSDT-metrics-{day}.zip"
    for name, digest in ((right, sha256(zipped(b"a\n"))), (wrong, sha256(b""))):
        (tmp_path / name).write_bytes(zipped(b"a\n"))
        (tmp_path / f"{name}.CHECKSUM").write_text(f"{digest}  {name}\n")
    state = archived.fetch(2, folder=tmp_path, symbols=["BTCUSDT", "ETHUSDT"])
    assert archived.files() == [right]
    assert "the checksum is" in str(state.venues["binance"].last_error)


def test_no_file_is_begun_while_a_minute_waits_to_be_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each minute is served at the third look for it. A file that is being read ends in a minute that waits."""
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    monkeypatch.setattr(module, "FILES_AT_ONCE", 1)
    today = datetime.now(UTC).date()
    for age in range(1, 7):
        (tmp_path / f"BTCUSDT-metrics-{today - timedelta(days=age)}.zip").write_bytes(zipped(b"a\n"))
    looks, began_in, waits, read = itertools.count(1), list[bool](), threading.Event(), files.Folder.read

    def served() -> Served:
        is_served = next(looks) % 3 == 0
        (waits.clear if is_served else waits.set)()
        return Served(now_ms(), 0, now_ms() if is_served else 0, now_ms())

    def slow(self: files.Folder, file: File, archive: Archive) -> tuple[str | None, str]:
        began_in.append(waits.is_set())
        assert waits.wait(60)
        return read(self, file, archive)

    monkeypatch.setattr(files.Folder, "read", slow)
    venue = replace(BINANCE, history=(), archives=(replace(ARCHIVE, checksum=None),))
    wanted = Wanted(["binance"], [ARCHIVE.name], now_ms() - 7 * DAY, symbols=["BTCUSDT"], folder=tmp_path)
    work = backfill(
        tmp_path / "home", str(tmp_path / "landing"), "http://127.0.0.1:9", wanted,
        venues=[venue], pace=Pace(minute_ms=300, land_ms=0, built_ms=DAY, answer_s=0.1, again_s=()), served=served,
    )  # fmt: skip
    asyncio.run(work)
    assert began_in == [False] * 6


def test_a_replaced_file_is_fetched_again_where_there_is_no_list(
    archived: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    okx = next(venue for venue in VENUES if venue.name == "okx")
    monkeypatch.setattr(simulated_okx, "MISSING", 0.0)
    for release, expected in ((1, 1), (1, 1), (2, 2)):
        monkeypatch.setattr(simulated_okx, "RELEASE", release)
        state = archived.fetch(4, okx.archives[-1], of=okx)
        names = archived.files()
        assert (state.state, len(names)) == ("done", expected * len(set(names)))


def test_defects_of_other_archives_are_named(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day without a file, a file that is not the listed one, and a wrong checksum."""
    venues = {venue.name: venue for venue in VENUES}
    monkeypatch.setattr(simulated_okx, "MISSING", 1.0)
    state = archived.fetch(12, venues["okx"].archives[-1], of=venues["okx"])
    absent = state.absent["okx funding_history"]
    assert (state.state, absent["missing"] + absent["unpublished"]) == ("done", 12)
    assert absent["missing"] in (4, 5), "by the hour: a day begins at 16:00 UTC"
    monkeypatch.setattr(simulated_gate, "WRONG_ETAG", 1.0)
    state = archived.fetch(40, venues["gate"].archives[-1], of=venues["gate"], symbols=["BTC_USDT"])
    assert "the checksum is" in str(state.venues["gate"].last_error)
    monkeypatch.setattr(simulated_kucoin, "WRONG_CHECKSUM", 1.0)
    state = archived.fetch(2, venues["kucoin"].archives[-1], of=venues["kucoin"], symbols=["XBTUSDTM"])
    assert "but the archive says d41d8cd98f00b204e9800998ecf8427e" in str(state.venues["kucoin"].last_error)
    assert archived.files() == []


def test_days_that_the_file_of_a_month_lacks_are_fetched(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    for share, value in (("MISSING", 0.0), ("DOUBLED", 0.0), ("LACKING", 1.0)):
        monkeypatch.setattr(simulated, share, value)
    at = datetime.fromtimestamp(start_ms() / 1000, UTC)
    month = (at - timedelta(days=45)).replace(day=1)
    end_ms = int(month.timestamp() * 1000) + 2 * DAY
    days = (start_ms() - end_ms) // DAY + 1
    # Two days of it are wanted: its own file, and as it lacks one, those of its days that are.
    state = archived.fetch(days, PERP_MINUTES, symbols=["BTCUSDT"], end_ms=end_ms)
    names = [name.removeprefix("BTCUSDT-1m-").removesuffix(".zip") for name in archived.files()]
    assert (state.state, state.failed) == ("done", [])
    whole, of_days = f"{month:%Y-%m}", [name for name in names if len(name) > 7]
    assert sorted({*names}) == sorted(names) == sorted([whole, *of_days])
    assert all(name.startswith(f"{whole}-") for name in of_days)
    assert 1 <= len(of_days) <= 3
    archived.fetch(days, PERP_MINUTES, symbols=["BTCUSDT"], end_ms=end_ms)
    assert len(archived.files()) == len(names), "nothing is fetched twice"


def test_a_closed_month_is_one_file(archived: Archived) -> None:
    state = archived.fetch(70, PERP_MINUTES, symbols=["BTCUSDT"], dry_run=True)
    [estimate] = state.estimates["binance"]
    assert estimate.files <= 1 + 31 + simulated.MONTH_PUBLISHED_DAYS


# Of each file: its day, the first row's instant, open interest, USD, ratios of top accounts, top positions, all
# accounts and takers, and the number of rows.
REAL = {
    "um-metrics_BTCUSDT_2026-07-29.csv": (
        "2026-07-29", "2026-07-29T00:05:00", 103264.474, 6610597893.754393, 1.81376044, 1.633889, 1.72042139, 1.684121,
        13,
    ),
    "um-metrics_ACEUSDT_2025-01-21_first-row.csv": (
        "2025-01-21", "2025-01-21T00:05:00", 2310973.79, 3669133.086383, 4.24734982, 2.26803, 2.72141015, 0.69236, 1,
    ),
    "um-metrics_1000000BOBUSDT_2025-08-01.csv": (
        "2025-08-01", "2025-08-01T00:05:00", 28094099, 1608949.04973, 1.40508806, 2.004403, 1.67633929, 1.51837, 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read(name: str, archives: Path, tmp_path: Path) -> None:
    """Until 2026-06-24 the label is the end of the five minutes, since then their start."""
    day, at, held, usd, *ratios, count = REAL[name]
    symbol = name.split("_")[1]
    body = (archives / "binance" / name).read_text()
    params = json.dumps({"day": day, "file": name, "sha256": ""})
    warehouse = seeded(tmp_path)
    minute = 1_795_000_020_000
    warehouse.build([response(minute, "binance", "metrics_history", body, key=symbol, params=params)], "raw_window")
    instant = int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()) * 1000
    rows = warehouse.rows(
        "select t, symbol, open_interest, open_interest_usd, reject from stg_binance__metrics_files order by t"
    )
    assert rows[0] == (instant, symbol, pytest.approx(held), pytest.approx(usd), None)
    assert len(rows) == count
    kinds = ("long_short_top_accounts", "long_short_top_positions", "long_short_accounts", "taker_ratio")
    for kind, ratio in zip(kinds, ratios, strict=True):
        [first, *_] = warehouse.rows(f"select t - period_ms, {kind} from stg_binance__metrics_files order by t")
        assert first == (instant - 300_000, pytest.approx(float(ratio) / (1 + float(ratio))))
