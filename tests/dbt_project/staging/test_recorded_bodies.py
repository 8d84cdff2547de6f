"""Staging and intermediate models against real bodies: every number checked by two independent computations."""

import math
import re
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.support.pipeline.warehouse import Warehouse, seeded
from tests.support.recordings.recorded import Recorded, recorded

FIELDS = ("price", "mark_price", "index_price", "vol24h_usd", "oi_base", "oi_usd", "funding_rate", "funding_8h")


@pytest.fixture(scope="module")
def built(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recorded, Warehouse]:
    """The recordings landed as three minutes and built in one window."""
    warehouse = seeded(tmp_path_factory.mktemp("recorded"))
    expected = recorded(recordings)
    warehouse.build(expected.rows)
    return expected, warehouse


def same(got: float | None, expected: float | None) -> bool:
    if got is None or expected is None:
        return got is expected
    return math.isclose(got, expected, rel_tol=1e-12)


def test_every_market_number_is_the_bodys(
    built: tuple[Recorded, Warehouse], capsys: pytest.CaptureFixture[str]
) -> None:
    expected, warehouse = built
    rows = warehouse.rows(f"select minute_ms, market_id, {', '.join(FIELDS)} from int_market_minutes")
    got = {(row[0], row[1]): dict(zip(FIELDS, row[2:], strict=True)) for row in rows}
    assert len(got) == len(rows), "a market has two rows in a minute"
    wrong = [
        (key, name, got[key][name], value)
        for key, values in expected.minutes.items()
        if key in got
        for name, value in values.items()
        if not same(got[key][name], value)
    ]
    compared = Counter(":".join(market.split(":")[:2]) for _, market in got)
    numbers = sum(len(values) for values in expected.minutes.values())
    with capsys.disabled():
        print(f"\nmarket minutes compared: {dict(compared)}, numbers: {numbers}, different: {len(wrong)}")
    assert set(got) == set(expected.minutes)
    assert not wrong, f"{len(wrong)} differ: {wrong[:10]}"
    assert len(got) > 2000


def test_every_bar_is_the_bodys(built: tuple[Recorded, Warehouse], capsys: pytest.CaptureFixture[str]) -> None:
    """Bars of every length as read; of them the 1-minute ones reach the bars, in USD with both taker sides."""
    expected, warehouse = built
    got = set()
    for venue, kind in (("binance", "perp_bars"), ("binance", "spot_bars"), ("hyperliquid", "perp_bars")):
        more = "turnover, taker_buy_turnover" if venue == "binance" else "null, null"
        query = f"select symbol, opened_ms, open, high, low, close, volume, {more} from stg_{venue}__{kind}"
        got |= {(venue, kind, *row) for row in warehouse.rows(query + " where reject is null")}
    assert got == expected.bars
    spot_btc = "select count(*), sum(taker_buy_usd + taker_sell_usd), sum(volume_usd) from int_market_bars"
    count, both_sides, turnover = warehouse.rows(spot_btc)[0]
    with capsys.disabled():
        print(f"\nbars compared: {len(got)}, of which closed minutes: {count}")
    assert count >= 61
    assert both_sides == pytest.approx(turnover, rel=1e-12)


def test_every_liquidation_is_the_streams(
    built: tuple[Recorded, Warehouse], capsys: pytest.CaptureFixture[str]
) -> None:
    expected, warehouse = built
    got = warehouse.rows("select tick_ms, market_id, side, ts, usd from int_liquidations order by all")
    with capsys.disabled():
        print(f"\nliquidations compared: {len(got)}, {Counter(row[1].split(':')[0] for row in got)}")
    assert [row[:4] for row in got] == [row[:4] for row in sorted(expected.liquidations)]
    for row, other in zip(got, sorted(expected.liquidations), strict=True):
        assert same(row[4], other[4]), (row, other)


def test_nothing_recorded_was_rejected_and_dexes_are_read(built: tuple[Recorded, Warehouse]) -> None:
    expected, warehouse = built
    assert warehouse.rows("select * from int_rejected") == []
    assert set(warehouse.rows("select tick_ms, dex from stg_hyperliquid__perp_dexes")) == expected.dexes
    assert warehouse.rows("select sum(failed) from int_response_minutes") == [(0,)]


def test_no_recorded_token_of_several_coins_is_missing_in_the_seed(
    built: tuple[Recorded, Warehouse], recordings: Path
) -> None:
    """Names that look like several coins, over all markets built here and all perps of the klines archive."""
    _, warehouse = built
    several = re.compile(r"^1(0{3,}|M|K)[A-Z]|[A-Z]1000$|^k[A-Z]")
    instruments = warehouse.rows("select base_raw, multiplier from instruments")
    # The liquidation captures had lost the quote, and USDT was put in its place: 1000PEPEUSDC became 1000PEPEUSDCUSDT.
    unknown = {base for base, multiplier in instruments if several.search(base) and multiplier == 1}
    assert unknown <= {"1000PEPEUSDC", "1000BONKUSDC", "1000SHIBUSDC"}
    with tarfile.open(recordings / "history/binance_perps_1d_all538.tar.gz") as archive:
        perps = {Path(name).stem.removesuffix("USDT").removesuffix("USDC") for name in archive.getnames()}
    with warehouse.connect() as db:
        known = {row[0] for row in db.execute("select symbol_base from symbols").fetchall()}
    assert len(perps) > 500
    assert not {base for base in perps if several.search(base)} - known
