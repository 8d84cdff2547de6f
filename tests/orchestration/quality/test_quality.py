"""Data quality: Great Expectations on real files with injected faults. Each is named with venue, market and value, and
marked; what is clean passes; a mark is taken back; the report needs no network; nobody else imports Great Expectations.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestration.config.settings import REPOSITORY
from orchestration.quality.suites import CHECKS, Rows
from tests.support.pipeline.quality_home import DAY, HOUR, MINUTE, VENUES, QualityHome
from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import free_port, running
from tests.support.start import start_ms

Outcomes = dict[str, dict[str, Any]]
# SQL, check, venue, market, found value, expected
Fault = tuple[str, str, str, str | None, str, str]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> QualityHome:
    home = QualityHome(tmp_path_factory.mktemp("clean"), start_ms())
    home.land_normally()
    return home


def test_clean_data_passes_every_check(clean: QualityHome) -> None:
    assert clean.check("hourly") == {}
    assert clean.check("daily") == {}
    assert clean.suspects() == []
    assert list(clean.settings.quality.glob("facts_*")) == []


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
}  # fmt: skip


def broken(clean: QualityHome, folder: Path, faults: dict[str, Fault]) -> QualityHome:
    home = QualityHome(folder, clean.newest_ms)
    for sql, *_ in faults.values():
        home.change(sql.format(newest=home.newest_ms, hour=home.newest_ms - home.newest_ms % HOUR))
    return home


@pytest.fixture(scope="module")
def minutes(clean: QualityHome, tmp_path_factory: pytest.TempPathFactory) -> tuple[QualityHome, Outcomes]:
    home = broken(clean, tmp_path_factory.mktemp("minutes"), MINUTE_FAULTS)
    return home, home.check("hourly")


@pytest.fixture(scope="module")
def days(clean: QualityHome, tmp_path_factory: pytest.TempPathFactory) -> tuple[QualityHome, Outcomes]:
    home = broken(clean, tmp_path_factory.mktemp("days"), DAY_FAULTS)
    return home, home.check("daily")


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


@pytest.mark.parametrize("fault", MINUTE_FAULTS)
def test_a_fault_in_the_minutes_is_named_and_marked(minutes: tuple[QualityHome, Outcomes], fault: str) -> None:
    _, check, venue, market, value, expected = MINUTE_FAULTS[fault]
    assert_reported_and_marked(*minutes, check, venue, market, value, expected)


@pytest.mark.parametrize("fault", DAY_FAULTS)
def test_a_fault_in_the_days_is_named_and_marked(days: tuple[QualityHome, Outcomes], fault: str) -> None:
    _, check, venue, market, value, expected = DAY_FAULTS[fault]
    assert_reported_and_marked(*days, check, venue, market, value, expected)


def test_only_wrong_rows_are_marked(minutes: tuple[QualityHome, Outcomes]) -> None:
    home, failed = minutes
    prices = [row for row in home.suspects() if row["check"] == "venues_agree_on_prices"]
    assert [(row["market_id"], row["to_ms"] - row["from_ms"]) for row in prices] == [("bybit:perp:ETHUSDT", 5 * MINUTE)]
    assert failed["venues_agree_on_prices"]["words"].startswith("bybit:perp:ETHUSDT: ")


def test_the_landing(clean: QualityHome, tmp_path: Path) -> None:
    newest = clean.newest_ms
    times: Callable[[int], int] = lambda tick: tick + 1000 - (30 * MINUTE if tick == newest else 0)  # noqa: E731
    home = QualityHome(tmp_path / "back", newest)
    home.land([newest - n * MINUTE for n in range(90, -1, -1)], requested_ms=times)
    assert_reported_and_marked(
        home, home.check(), "responses_go_forward_in_time", "binance", None, "^perp_tickers : asked at", "not before"
    )
    home = QualityHome(tmp_path / "silent", newest)
    home.land([newest - n * MINUTE for n in range(90, 71, -1)])
    home.land([newest - n * MINUTE for n in range(69, -1, -1)], status=503, error="HTTP 503")
    failed = home.check()
    assert set(failed) == {"every_kind_is_answered_as_yesterday"}
    assert_reported_and_marked(
        home, failed, "every_kind_is_answered_as_yesterday", "binance", None,
        "^perp_tickers: 70 requests, none answered", "answered, as in",
    )  # fmt: skip


def test_stale_data_fails_the_freshness_checks(clean: QualityHome, tmp_path: Path) -> None:
    home = QualityHome(tmp_path, clean.newest_ms)
    home.land_normally()
    home.now_ms += 10 * MINUTE
    failed = home.check()
    assert set(failed) == {"markets_are_fresh", "every_venue_responds"}
    for check in failed:
        assert list(failed[check]["venues"]) == sorted(VENUES)
        assert_reported_and_marked(home, failed, check, "okx", None, r"\d+ s old$", "at most 300 s old")


def test_a_mark_is_taken_back_and_nothing_is_marked_twice(clean: QualityHome, tmp_path: Path) -> None:
    home = QualityHome(tmp_path, clean.newest_ms)
    where = f"where market_id = 'okx:perp:SOLUSDT' and t = {home.newest_ms - 600_000}"
    home.change(f"update series_market_1m set price = -price {where}")
    home.check()
    first = home.suspects()
    home.check()
    assert home.suspects() == first != []
    home.change(f"update series_market_1m set price = -price {where}")
    assert home.check() == {}
    assert home.suspects() == []


def test_marks_of_other_periods_and_checks_stay(clean: QualityHome, tmp_path: Path) -> None:
    from orchestration.quality.facts import Span
    from orchestration.quality.suspects import Suspect, mark

    home = QualityHome(tmp_path, clean.newest_ms)
    now = home.newest_ms

    def reported(check: str, start: int, end: int) -> Suspect:
        return Suspect(check, "m", "v", start, end, "1", "2")

    mark(
        home.settings,
        ["a", "b"],
        Span(now - HOUR, now, now),
        [reported("a", now - HOUR, now), reported("b", now - 9, now)],
    )
    later = Span(now - HOUR // 2, now + HOUR // 2, now + HOUR // 2)
    mark(home.settings, ["a"], later, [reported("a", now - HOUR, now + 5)])
    kept = [(row["check"], row["from_ms"] - now, row["to_ms"] - now) for row in home.suspects()]
    assert kept == [("a", -HOUR, -HOUR // 2), ("a", -HOUR // 2, 5), ("b", -9, 0)]
    mark(home.settings, [], Span(now, now, now + 100 * DAY), [])
    assert home.suspects() == []


def test_the_report_names_the_rows_and_needs_no_network(minutes: tuple[QualityHome, Outcomes]) -> None:
    home, failed = minutes
    page = (home.settings.quality_docs / failed["venues_agree_on_prices"]["report"]).read_text()
    for text in ("bybit:perp:ETHUSDT", "okx:perp:SOLUSDT", "oi_base", "the median of 4 venues"):
        assert text in page
    index = (home.settings.quality_docs / "index.html").read_text()
    assert failed["venues_agree_on_prices"]["report"] in index
    for text in (page, index):
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"' >]+""", text) == []
        assert "<script" not in text


def test_the_report_and_the_counts_are_served(minutes: tuple[QualityHome, Outcomes], tmp_path: Path) -> None:
    home, failed = minutes
    publish(tmp_path / "serving", 1)
    with running(tmp_path / "serving", free_port(), quality=home.settings.quality_docs) as api:
        assert api.get("/quality").headers["location"] == "/quality/"
        assert b"hourly_minutes" in api.get("/quality/").body
        assert b"bybit:perp:ETHUSDT" in api.get("/quality/" + failed["venues_agree_on_prices"]["report"]).body
        assert api.get("/quality/../../hourly.duckdb").status == 404
        last = AS_OF_MS - AS_OF_MS % MINUTE
        assert api.get("/api/status").json["suspects"] == [
            {"check": "minutes_in_range", "venue": "binance", "rows": 2, "last_ms": last}
        ]


def test_every_check_has_a_fault_that_a_test_injects() -> None:
    faults = {fault[1] for fault in (*MINUTE_FAULTS.values(), *DAY_FAULTS.values())}
    text = Path(__file__).read_text()
    assert [check.name for check in CHECKS if check.name not in faults and f'"{check.name}"' not in text] == []
    assert all("{batch}" in one.sql for check in CHECKS for one in check.expects if isinstance(one, Rows))


# Every process of the product but the checks' own; the code server's is tested with Dagster's definitions.
LIGHT = (
    "ingest.recorder.recorder",
    "sandbox.server",
    "serve.app",
    "orchestration.cli.main",
    "orchestration.warehouse.transform",
    "orchestration.publish.publish",
    "orchestration.supervise.product",
    "orchestration.cli.status",
    "orchestration.quality.run",
)


def test_great_expectations_is_imported_by_its_own_process_alone() -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {LIGHT!r}: importlib.import_module(name)\n"
        "print([name for name in ('great_expectations', 'pandas', 'sqlalchemy') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "[]", run.stderr
