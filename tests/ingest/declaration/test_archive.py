"""What each venue declares of its archive is of the venue's own markets and limits."""

from datetime import date

from ingest.declaration.archive import Archive, Bucket
from ingest.declaration.history import is_history
from ingest.venues import VENUES

ARCHIVES = {(venue.name, one.endpoint): one for venue in VENUES for one in venue.archives}


def test_archives_are_of_recorded_markets_and_have_a_share_of_a_limit() -> None:
    declared = [(venue, archive) for venue in VENUES for archive in venue.archives]
    assert declared
    for venue, archive in declared:
        assert is_history(archive.endpoint)
        assert archive.endpoint not in {one.name for one in venue.endpoints} | {one.name for one in venue.history}
        fan_out = venue.markets_of(archive)
        assert (fan_out is None) == (archive.like is None)
        assert fan_out is None or (fan_out.top, fan_out.without) == (None, None)
        assert next(pool for pool in venue.pools if pool.name == archive.pool).history > 0


def folders(archive: Archive, name: str) -> list[str]:
    assert isinstance(archive.files, Bucket)
    return list(archive.files.folders(name, date(2026, 7, 1)))


def test_the_days_of_a_file_are_those_of_its_name() -> None:
    metrics, minutes = ARCHIVES["binance", "metrics_history"], ARCHIVES["binance", "perp_minutes_history"]
    assert folders(metrics, "BTCUSDT") == ["data/futures/um/daily/metrics/BTCUSDT/"]
    assert metrics.period_of("BTCUSDT-metrics-2026-07-29.zip") == (date(2026, 7, 29), date(2026, 7, 30))
    assert minutes.period_of("BTCUSDT-1m-2025-12.zip") == (date(2025, 12, 1), date(2026, 1, 1))
    assert minutes.period_of("BTCUSDT-1m-2025-12.zip.CHECKSUM") is None
    assert minutes.has("BTCUSDT")
    assert minutes.has("BTCUSD_PERP")
    assert folders(metrics, "BTCUSD_PERP") == ["data/futures/cm/daily/metrics/BTCUSD_PERP/"]
    marks = ARCHIVES["binance", "mark_minutes_history"]
    assert folders(marks, "BTCUSDT")[1] == "data/futures/um/daily/markPriceKlines/BTCUSDT/1m/"
    assert (marks.has("BTCUSD_PERP"), marks.lines) == (False, 1440)


def test_names_are_those_of_the_venues() -> None:
    okx, kucoin, gate = (ARCHIVES[venue, "perp_minutes_history"] for venue in ("okx", "kucoin", "gate"))
    assert not isinstance(okx.files, Bucket)
    assert okx.files("", date(2026, 7, 29)) == (
        "/cdn/okex/traderecords/candlesticks/daily/20260729/allswap-candlesticks-2026-07-29.zip"
    )
    assert (okx.like, okx.zone_h) == (None, 8)
    name = kucoin.name_of("XBTUSDTM")
    assert (name, kucoin.checksum) == ("BTCUSDTM", "md5")
    assert folders(kucoin, name) == ["data/futures/daily/klines/BTCUSDTM/1m/"]
    pairs, files = ARCHIVES["kucoin", "spot_minutes_history"], ARCHIVES["gate", "spot_minutes_history"]
    assert folders(pairs, pairs.name_of("BTC-USDT")) == ["data/spot/daily/klines/BTCUSDT/1m/"]
    assert folders(files, "BTC_USDT") == ["spot/candlesticks_1m/202607/BTC_USDT-"]
    assert files.period_of("BTC_USDT-20260731.csv.gz") == (date(2026, 7, 31), date(2026, 8, 1))
    assert folders(gate, "BTC_USDT") == ["futures_usdt/candlesticks_1m/202607/"]
    assert gate.period_of("BTC_USDT-202607.csv.gz") == (date(2026, 7, 1), date(2026, 8, 1))
    sheets = ARCHIVES["bitget", "perp_minutes_history"]
    assert sheets.addresses == [
        "https://img.bitgetimg.com/online/kline/{symbol}/UMCBL/{symbol}_UMCBL_1min_20190423.zip",
        "https://img.bitgetimg.com/online/kline_month/{symbol}/UMCBL/{symbol}_UMCBL_1min_201904.zip",
    ]
    assert sheets.period_of("BTCUSDT_UMCBL_1min_20260729.zip") == (date(2026, 7, 29), date(2026, 7, 30))
    assert sheets.period_of("BTCUSDT_UMCBL_1min_202607.zip") == (date(2026, 7, 1), date(2026, 8, 1))
    assert [sheets.has(key) for key in ("BTCUSDT", "BTCPERP", "BTCUSD")] == [True, False, False]
    assert (gate.packing, gate.checksum, gate.has("BTC_USD")) == ("gzip", None, False)


def test_periods_are_the_days_or_the_months_of_a_span() -> None:
    days, months = ARCHIVES["binance", "metrics_history"], ARCHIVES["binance", "funding_history"]
    first, last = date(2026, 2, 27), date(2026, 3, 1)
    assert [day for day, _ in days.periods(first, last)] == [date(2026, 3, 1), date(2026, 2, 28), date(2026, 2, 27)]
    assert list(months.periods(first, last)) == [
        (date(2026, 3, 1), date(2026, 4, 1)), (date(2026, 2, 1), date(2026, 3, 1)),
    ]  # fmt: skip
    assert list(days.periods(last, first)) == []
