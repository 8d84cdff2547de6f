"""Real samples of the venues' archives through the staging views, against their numbers as Python's csv reads them."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipeline.warehouse import Warehouse, response, seeded

AT_MS = 1_795_000_020_000
Line = list[str]


@dataclass(frozen=True)
class Sample:
    """A file: the endpoint that lands it and its key, the view that reads it, and what its row is, column by column of
    the view."""

    file: str
    endpoint: str
    key: str
    view: str
    expected: Callable[[Line], dict[str, Any]]


def _ms(text: str) -> int:
    """Seconds, ms or microseconds, by their magnitude."""
    number = float(text)
    return int(number * 1000 if number < 1e11 else number / 1000 if number > 1e14 else number)


def _binance_bar(line: Line) -> dict[str, Any]:
    names = {"open": 1, "high": 2, "low": 3, "close": 4, "volume": 5, "turnover": 7, "taker_buy_turnover": 10}
    bounds = {"opened_ms": _ms(line[0]), "closed_ms": _ms(line[6])}
    return bounds | {name: float(line[at]) for name, at in names.items()}


def _binance_settlement(line: Line) -> dict[str, Any]:
    return {"settled_ms": int(line[0]), "interval_h": float(line[1]), "funding_rate": float(line[2])}


def _coin_bar(line: Line) -> dict[str, Any]:
    """Of COIN-M: contracts, and coins where the header says quote."""
    names = {"open": 1, "high": 2, "low": 3, "close": 4, "volume_contracts": 5, "volume": 7, "taker_buy_contracts": 9}
    bounds = {"opened_ms": _ms(line[0]), "closed_ms": _ms(line[6])}
    # A contract is worth 100 USD: so many coins at a price of the bar.
    assert float(line[3]) < 100 * float(line[5]) / float(line[7]) < float(line[2])
    return bounds | {name: float(line[at]) for name, at in names.items()}


def _value_bar(line: Line) -> dict[str, Any]:
    prices = dict(zip(("open", "high", "low", "close"), map(float, line[1:5]), strict=True))
    return {"opened_ms": _ms(line[0]), "closed_ms": _ms(line[6])} | prices


def _coin_metrics(line: Line) -> dict[str, Any]:
    """Of COIN-M: contracts of 100 USD, and coins where the header says value, five minutes after the label."""
    instant = datetime.fromisoformat(line[0]).replace(tzinfo=UTC) + timedelta(minutes=5)
    contracts, coins = float(line[2]), float(line[3])
    assert 63_000 < 100 * contracts / coins < 65_000
    return {
        "t": int(instant.timestamp()) * 1000,
        "open_contracts": contracts,
        "open_interest": coins,
        "long_short_accounts": None,
        "long_short_top_accounts": float(line[4]) / (1 + float(line[4])),
    }


def _liquidation(line: Line) -> dict[str, Any]:
    """An order that sells closes a long, at its average price and not at its limit."""
    row = dict(zip(LIQUIDATION.split(), line, strict=True))
    return {
        "ts": _ms(row["time"]),
        "side": {"SELL": "long", "BUY": "short"}[row["side"]],
        "price": float(row["average"]),
    }


def _um_liquidation(line: Line) -> dict[str, Any]:
    return _liquidation(line) | {"size": float(line[9]), "size_contracts": None}


def _cm_liquidation(line: Line) -> dict[str, Any]:
    return _liquidation(line) | {"size": None, "size_contracts": float(line[9])}


def _bar(names: str) -> Callable[[Line], dict[str, Any]]:
    """A minute, or hours of the same layout, whose file has these columns."""
    columns = names.split()

    def expected(line: Line) -> dict[str, Any]:
        row = dict(zip(columns, line, strict=True))
        opened_ms = _ms(row["time"])
        numbers = {name: float(row[name]) for name in ("open", "high", "low", "close")}
        sizes = {name: float(row[name]) for name in ("volume", "volume_contracts", "turnover") if name in row}
        return {"opened_ms": opened_ms, "closed_ms": opened_ms + 59_999} | numbers | sizes

    return expected


def _settlement(time: int, rate: int) -> Callable[[Line], dict[str, Any]]:
    return lambda line: {"settled_ms": _ms(line[time]), "funding_rate": float(line[rate])}


LIQUIDATION = "time side type force wanted limit average status last filled"
SAMPLES = [
    Sample(
        "okx/candlesticks_1m_ETH-USDT-SWAP_2025-10-22_one-row.csv",
        "perp_minutes_history",
        "",
        "perp_bars",
        _bar("name open high low close contracts volume turnover time confirm"),
    ),
    Sample(
        "bitget/kline_month_futures_BTC-dated_2026-09.csv",
        "perp_minutes_history",
        "BTCUSDT",
        "perp_bars",
        _bar("time open high low close volume turnover"),
    ),
    Sample(
        "bitget/kline_month_spot_ETH_2026-09.csv",
        "spot_minutes_history",
        "ETHUSDT",
        "spot_bars",
        _bar("time open high low close volume turnover"),
    ),
    Sample("okx/fundingrates_BTC-USDT-SWAP.csv", "funding_history", "", "settlements", _settlement(2, 1)),
    Sample(
        "gate/futures_usdt-candlesticks_1m_BTC_USDT_2026-06.csv",
        "perp_minutes_history",
        "BTC_USDT",
        "perp_bars",
        _bar("time volume_contracts close high low open"),
    ),
    Sample(
        "gate/futures_usdt-funding_applies_BTC_USDT_2026-06.csv",
        "funding_history",
        "BTC_USDT",
        "settlements",
        _settlement(0, 1),
    ),
    Sample(
        "kucoin/futures-klines_BTCUSDTM_8h_2026-07-29.csv",
        "perp_minutes_history",
        "XBTUSDTM",
        "perp_bars",
        _bar("time open high low close volume_contracts"),
    ),
    Sample(
        "kucoin/futures-fundingRates_BTCUSDTM_2026-07-29.csv",
        "funding_history",
        "XBTUSDTM",
        "settlements",
        _settlement(1, 2),
    ),
    *(
        Sample(f"binance/um-klines_BTCUSDT_{name}.csv", "perp_minutes_history", "BTCUSDT", "perp_bars", _binance_bar)
        for name in ("8h_2026-07-28", "1m_2026-07-15_first-row")
    ),
    *(
        Sample(f"binance/spot-klines_{name}.csv", "spot_minutes_history", name.split("_")[0], "spot_bars", _binance_bar)
        for name in ("ADABTC_1m_2021-11-27_ms-era", "BTCUSDT_1m_2026-10-01", "BTCUSDT_8h_2026-07-29")
    ),
    Sample(
        "binance/cm-klines_BTCUSD_PERP_8h_2026-07-29.csv", "perp_minutes_history", "BTCUSD_PERP", "perp_bars", _coin_bar
    ),
    Sample("binance/cm-metrics_BTCUSD_PERP_2026-07-29.csv", "metrics_history", "BTCUSD_PERP", "metrics", _coin_metrics),
    *(
        Sample(
            f"binance/um-{name}Klines_BTCUSDT_8h_2026-07-28.csv",
            f"{kind}_minutes_history",
            "BTCUSDT",
            f"{kind}_bars",
            _value_bar,
        )
        for name, kind in (("markPrice", "mark"), ("indexPrice", "index"), ("premiumIndex", "premium"))
    ),
    Sample(
        "binance/um-liquidationSnapshot_BTCUSDT_2023-06-25.csv",
        "liquidations_history",
        "BTCUSDT",
        "liquidations",
        _um_liquidation,
    ),
    Sample(
        "binance/cm-liquidationSnapshot_BTCUSD_PERP_2024-10-14.csv",
        "liquidations_history",
        "BTCUSD_PERP",
        "liquidations",
        _cm_liquidation,
    ),
    Sample(
        "kucoin/spot-klines_BTCUSDT_8h_2026-07-29.csv",
        "spot_minutes_history",
        "BTC-USDT",
        "spot_bars",
        _bar("time open close high low volume turnover"),
    ),
    Sample(
        "binance/um-fundingRate_BTCUSDT_2026-06.csv", "funding_history", "BTCUSDT", "settlements", _binance_settlement
    ),
]


CONTEXTS = "hyperliquid/asset_ctxs_POPCAT_2025-11-13_one-row.csv"


def _contexts(text: str) -> tuple[str, str]:
    """The sample as it is, of a minute that no five minutes begin with, and as of one that they do."""
    return text, text.replace("T00:01:00Z", "T00:05:00Z")


@pytest.fixture(scope="module")
def warehouse(archives: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The staging views over all samples."""
    made = seeded(tmp_path_factory.mktemp("files"))
    made.build(
        [
            response(
                AT_MS,
                one.file.partition("/")[0],
                one.endpoint,
                (archives / one.file).read_text(),
                key=one.key,
                params=json.dumps({"file": one.file, "day": one.file.removesuffix(".csv")[-10:]}),
            )
            for one in SAMPLES
        ]
        + [
            response(
                AT_MS, "hyperliquid", "contexts_history", text, params=json.dumps({"day": "2025-11-13", "file": n})
            )
            for n, text in enumerate(_contexts((archives / CONTEXTS).read_text()))
        ],
        "raw_window",
    )
    return made


def _rows(sample: Sample, archives: Path) -> list[dict[str, Any]]:
    """The lines of a sample, as Python reads them."""
    with (archives / sample.file).open(newline="") as file:
        lines = [line for line in csv.reader(file) if line and any(text[:1].isdigit() for text in line)]
    return [{"symbol": sample.key or line[0]} | sample.expected(line) for line in lines]


@pytest.mark.parametrize("name", dict.fromkeys((one.file.partition("/")[0], one.view) for one in SAMPLES))
def test_each_row_of_the_samples_is_read(name: tuple[str, str], warehouse: Warehouse, archives: Path) -> None:
    venue, view = name
    samples = [one for one in SAMPLES if one.file.startswith(f"{venue}/") and one.view == view]
    expected = [row for one in samples for row in _rows(one, archives)]
    columns = list(dict.fromkeys(name for one in expected for name in one))
    # COIN-M has contracts where USD-M has a turnover.
    expected = [{name: one.get(name) for name in columns} for one in expected]

    def order(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["symbol"], row[columns[1]]

    selected = ", ".join(columns)
    found = warehouse.rows(f"select {selected}, reject, outside from stg_{venue}__{view}_files")
    assert {row[-2:] for row in found} == {(None, 0)}
    rows = sorted((dict(zip(columns, row[:-2], strict=True)) for row in found), key=order)
    assert rows == [pytest.approx(one) for one in sorted(expected, key=order)]
    for row in rows:
        assert "open" not in row or row["low"] <= min(row["open"], row["close"]) <= row["high"]


def test_candles_of_minutes_and_hours_are_those_of_the_files(warehouse: Warehouse, archives: Path) -> None:
    """Of every venue whose sample has minutes, in USD or not, and the hours that these lie in."""
    lines: dict[str, dict[int, dict[str, Any]]] = {}
    markets = {}
    for one in SAMPLES:
        venue, kind = one.file.partition("/")[0], one.view.partition("_")[0]
        if one.view not in ("perp_bars", "spot_bars") or "_8h_" in one.file:
            continue
        for bar in _rows(one, archives):
            market = f"{venue}:{kind}:{bar['symbol']}"
            markets[market] = (market, venue, kind, bar["symbol"])
            lines.setdefault(market, {})[bar["opened_ms"]] = bar
    with warehouse.connect() as db:
        # The samples are of bars alone: their markets are stated here.
        db.execute("create table listed as from instruments limit 0; drop view instruments")
        db.execute("alter table listed rename to instruments")
        db.executemany(
            "insert into instruments "
            "(market_id, venue, type, symbol, base, usd_like, multiplier, contract_size, inverse) "
            "values (?, ?, ?, ?, 'X', true, 1, 1, false)",
            list(markets.values()),
        )
    warehouse.dbt("run", "--select", "staged_bars", "int_file_minutes", "int_history_bars")
    prices = ("open", "high", "low", "close")
    minutes = warehouse.rows(f"select market_id, t, {', '.join(prices)} from int_file_minutes order by all")
    assert minutes == [
        (market, t, *(bar[name] for name in prices))
        for market in sorted(lines)
        for t, bar in sorted(lines[market].items())
    ]
    hours: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for market, t, *_ in minutes:
        hours.setdefault((market, t - t % 3_600_000), []).append(lines[market][t])
    found_hours = warehouse.rows(
        f"select market_id, t, {', '.join(prices)} from int_history_bars where step = '1h' order by all"
    )
    assert found_hours == [
        (*hour, bars[0]["open"], max(bar["high"] for bar in bars), min(bar["low"] for bar in bars), bars[-1]["close"])
        for hour, bars in sorted(hours.items())
    ]
    assert {market.partition(":")[0] for market in lines} >= {"binance", "bitget", "gate", "okx"}


def test_contexts_of_hyperliquid_are_read_every_five_minutes(warehouse: Warehouse, archives: Path) -> None:
    with (archives / CONTEXTS).open(newline="") as file:
        [line] = csv.DictReader(file)
    held, mark = float(line["open_interest"]), float(line["mark_px"])
    at_ms = int(datetime(2025, 11, 13, 0, 5, tzinfo=UTC).timestamp()) * 1000
    columns = "symbol, t, period_ms, open_interest, open_interest_usd, reject, outside"
    assert warehouse.rows(f"select {columns} from stg_hyperliquid__open_interest_files") == [
        ("POPCAT", at_ms, 300_000, held, pytest.approx(held * mark), None, 0)
    ]
    # The mark lies between the impact prices, and the premium is theirs over the oracle.
    assert float(line["impact_bid_px"]) - 1e-3 < mark < float(line["impact_ask_px"])
