"""What each venue declares of its archive is of the venue's own markets and limits."""

from ingest.declaration.history import is_history
from ingest.venues import VENUES


def test_archives_are_of_recorded_markets_and_have_a_share_of_a_limit() -> None:
    declared = [(venue, archive) for venue in VENUES for archive in venue.archives]
    assert declared
    for venue, archive in declared:
        assert is_history(archive.endpoint)
        assert archive.endpoint not in {one.name for one in venue.endpoints} | {one.name for one in venue.history}
        fan_out = venue.markets_of(archive)
        assert fan_out is not None
        assert (fan_out.top, fan_out.without) == (None, None)
        assert next(pool for pool in venue.pools if pool.name == archive.pool).history > 0


def test_the_day_is_that_of_the_file_s_name() -> None:
    [archive] = next(venue for venue in VENUES if venue.name == "binance").archives
    path = archive.folder("BTCUSDT") + "BTCUSDT-metrics-2026-07-29.zip"
    assert path == "data/futures/um/daily/metrics/BTCUSDT/BTCUSDT-metrics-2026-07-29.zip"
    found = archive.day.search(path)
    assert found is not None
    assert found[1] == "2026-07-29"
    assert archive.day.search(path + ".CHECKSUM") is None
    assert archive.has("BTCUSDT")
    assert not archive.has("BTCUSD_PERP")
