"""GET /api/revisions: the buckets that have changed, and what it refuses."""

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.api_server import Api

FIVE = 5 * MINUTE


@pytest.mark.requirement("revisions:shape")
def test_revisions_are_the_buckets_that_have_changed(api: Api) -> None:
    # A minute after a bucket ended its volume was not known yet, and the bucket after it was not there.
    since = AS_OF_MS // FIVE * FIVE - 2 * FIVE + MINUTE // 2
    bucket = since // FIVE * FIVE - FIVE
    got = api.get(f"/api/revisions?metric=volume&market=binance:perp:ETHUSDT&range=1h&step=5m&since={since}").json
    assert (got["metric"], got["since"], got["as_of"], got["step"]) == ("volume", since, AS_OF_MS, FIVE)
    assert got["end"] == since
    assert got["t"][0] == bucket
    assert got["then"]["v"][0] is None
    now = api.series("volume", market="binance:perp:ETHUSDT", step="5m", start=bucket, end=bucket + FIVE)
    assert got["now"]["v"][0] == now["v"][0]
    assert got["changed_ms"][0] > since
    assert api.get(f"/api/revisions?metric=oi&base=BTC&step=5m&range=1h&since={bucket}").json["t"] == []


@pytest.mark.requirement("series:known:refused")
def test_revisions_need_a_time_within_the_horizon(api: Api) -> None:
    for query, named in (("", "since"), (f"&since={AS_OF_MS - 8 * DAY}", "7 days")):
        answer = api.get(f"/api/revisions?metric=oi&base=BTC{query}")
        assert answer.status == 400
        assert named in answer.error
