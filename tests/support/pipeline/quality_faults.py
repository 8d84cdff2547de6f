"""Faults to inject into a home that passes every check, and what must be found of each."""

import re
from pathlib import Path
from typing import Any

from tests.support.pipeline.quality_home import HOUR, QualityHome

Outcomes = dict[str, dict[str, Any]]
# SQL, check, venue, market, found value, expected
Fault = tuple[str, str, str, str | None, str, str]
MINUTE_FAULTS: dict[str, Fault] = {
    "a market at ten times its price": (
        "update series_market_1m set price = price * 10, oi_usd = oi_usd * 10 "
        "where market_id = 'bybit:perp:ETHUSDT' and t > {newest} - 300000",
        "venues_agree_on_prices", "bybit", "bybit:perp:ETHUSDT", r"^[56]\d{4}\.", "the median of 4 venues",
    ),
    "a price of zero": (
        "update series_market_1m set price = 0 where market_id = 'gate:spot:ADAUSDT' and t = {newest}",
        "minutes_in_range", "gate", "gate:spot:ADAUSDT", "^price 0", "> 0",
    ),
    "negative open interest": (
        "update series_market_1m set oi_base = -5 where market_id = 'okx:perp:SOLUSDT' and t = {newest} - 600000",
        "minutes_in_range", "okx", "okx:perp:SOLUSDT", "^oi_base -5", ">= 0",
    ),
    "funding above every cap": (
        "update series_market_1m set funding_8h = 0.5 where market_id = 'binance:perp:XRPUSDT' and t = {newest}",
        "minutes_in_range", "binance", "binance:perp:XRPUSDT", "^funding_8h 0.5", "<= 0.32",
    ),
    "funding unlike the others'": (
        "update series_market_1m set funding_8h = 0.2 where market_id = 'okx:perp:DOGEUSDT' and t = {newest}",
        "venues_agree_on_funding", "okx", "okx:perp:DOGEUSDT", "^0.2", "the median of 4 venues",
    ),
    "open interest in contracts taken for coins": (
        "update series_market_1m set oi_usd = oi_usd / 100 where market_id = 'gate:perp:BTCUSDT'",
        "open_interest_is_plausible", "gate", "gate:perp:BTCUSDT", r"^\d+", "coins at",
    ),
    "open interest that jumps": (
        "update series_market_1m set oi_usd = oi_usd * 9, oi_base = oi_base * 9 "
        "where market_id = 'bybit:perp:ADAUSDT' and t > {newest} - 600000",
        "open_interest_is_plausible", "bybit", "bybit:perp:ADAUSDT", r"^\d+", "as before",
    ),
    "the same minute twice": (
        "insert into series_market_1m select * from series_market_1m "
        "where market_id = 'okx:spot:BTCUSDT' and t = {newest}",
        "minutes_go_forward_in_time", "okx", "okx:spot:BTCUSDT", "^2 rows", "one row",
    ),
    "a minute of the future": (
        "update series_market_1m set t = t + 86400000 where market_id = 'okx:spot:ETHUSDT' and t = {newest}",
        "minutes_go_forward_in_time", "okx", "okx:spot:ETHUSDT", r"^\d+", "not after",
    ),
    "figures that stand still": (
        "update series_market_1m set price = 0.6, vol24h_usd = 3e7 where market_id = 'gate:spot:DOGEUSDT'",
        "markets_are_fresh", "gate", "gate:spot:DOGEUSDT", "^0.6 for 70 minutes", "figures that move",
    ),
    "markets that are gone": (
        "update market_index set last_ms = {newest} - 3600000 "
        "where venue = 'bybit' and type = 'spot' and base < 'DOGF'",
        "markets_are_recorded_as_yesterday", "bybit", "bybit:spot:BTCUSDT", "^not recorded for 61 minutes", "recorded",
    ),
    "a venue that is gone": (
        "update market_index set last_ms = {newest} - 7200000 where venue = 'binance' and type = 'perp'",
        "markets_are_recorded_as_yesterday", "binance", None,
        "^6 of 6 perp markets lost: binance:perp:ADAUSDT, binance:perp:BTCUSDT", "6 markets",
    ),
    "markets lost from one minute to the next": (
        "create table market_losses as select 'okx' as venue, 'perp' as type, 'price' as family, {newest} as start_ms, "
        "null::bigint as end_ms, 40 as markets, 9 as lost, ['okx:perp:BTCUSDT'] as examples",
        "venues_report_their_markets", "okx", None, "^9 of 40 perp markets without price, now okx:perp:BTCUSDT",
        "40 markets",
    ),
    "a response in quarantine": (
        "create table quarantined_bodies as select 'okx' as venue, {newest} - 60000 as tick_ms, 'perp_bars' as "
        "endpoint, 'ADA' as key, 'odd' as error, 'set aside' as state",
        "every_body_is_built", "okx", None, "^perp_bars ADA: odd", "built",
    ),
}  # fmt: skip
DAY_FAULTS: dict[str, Fault] = {
    "a negative price": (
        "update series_market_1h set price = -1 where market_id = 'okx:perp:ETHUSDT' and t = {hour} - 7200000",
        "hours_in_range", "okx", "okx:perp:ETHUSDT", "^price -1", "> 0",
    ),
    "the same hour twice": (
        "insert into series_market_1h select * from series_market_1h where market_id = 'gate:spot:BTCUSDT' "
        "and t = {hour} - 3600000",
        "hours_go_forward_in_time", "gate", "gate:spot:BTCUSDT", "^2 rows", "one row",
    ),
    "most hours gone": (
        "delete from series_market_1h where venue = 'binance' and type = 'spot' and base < 'DOGF' "
        "and t > {hour} - 14 * 3600000",
        "markets_have_the_hours_of_the_day_before", "binance", "binance:spot:BTCUSDT", r"^1\d hours", "24 hours",
    ),
    "a redenomination": (
        "update series_market_1h set price = price * 1000, oi_base = oi_base / 1000 "
        "where market_id = 'bybit:perp:XRPUSDT' and t >= {hour} - 86400000",
        "days_follow_on_from_the_day_before", "bybit", "bybit:perp:XRPUSDT", r"^\d{4,5}", "near",
    ),
    "bars in another unit": (
        "update series_market_1h set volume_usd = volume_usd * 50 where market_id = 'okx:spot:SOLUSDT'",
        "bars_add_up_to_the_turnover", "okx", "okx:spot:SOLUSDT", r"^\d+", "near 2",
    ),
    "a name that two coins have": (
        "create table market_register as select 'gate' as venue, 'gate:perp:XRPUSDT' as market_id, "
        "'XRP@gate' as base, 'XRP' as named_base, [{{'from_ms': {hour} - 7200000, 'to_ms': null, "
        "'reason': 'parted', 'price_ratio': 4.0}}] as identity",
        "names_mean_one_coin", "gate", "gate:perp:XRPUSDT", r"^XRP@gate \(parted, 4 times the price\)", "XRP",
    ),
    "values unlike the venue's own history": (
        "create table accuracy as select 'gate' as venue, 'volume' as metric, {hour} - 86400000 as t, "
        "0.5 as median_difference, 0.01 as allowed_difference, 'gate:perp:BTCUSDT' as worst_market_id",
        "recorded_values_agree_with_the_venue_s_history", "gate", None,
        "^volume: half differ by more than 50 %, most gate:perp:BTCUSDT", "at most 1 %",
    ),
}  # fmt: skip


def broken(clean: QualityHome, folder: Path, faults: dict[str, Fault]) -> QualityHome:
    home = QualityHome(folder, clean.newest_ms)
    for sql, *_ in faults.values():
        home.change(sql.format(newest=home.newest_ms, hour=home.newest_ms - home.newest_ms % HOUR))
    return home


def assert_reported_and_marked(
    home: QualityHome, failed: Outcomes, check: str, venue: str, market: str | None, value: str, expected: str
) -> None:
    outcome = failed[check]
    reported = [one for one in outcome["suspects"] if (one["venue"], one["market_id"]) == (venue, market)]
    assert any(re.search(value, one["value"]) and expected in one["expected"] for one in reported), outcome["suspects"]
    assert venue in outcome["venues"]
    assert outcome["errors"] == []
    marked = [
        row for row in home.suspects() if (row["check"], row["venue"], row["market_id"]) == (check, venue, market)
    ]
    assert any(re.search(value, row["value"]) and expected in row["expected"] for row in marked)
    assert all(row["from_ms"] < row["to_ms"] and row["seen_ms"] == home.now_ms for row in marked)
