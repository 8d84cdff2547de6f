"""as_known_at of series: what it selects and refuses. That the views have what was served is tested in
tests/dbt_project/marts/test_known.py."""

import csv
import io

import pytest

from tests.support.replica.replica import AS_OF_MS, DAY, MINUTE
from tests.support.servers.api_server import Api
from tests.support.servers.series_calls import HOUR, bad

THEN = AS_OF_MS - 2 * HOUR
FIVE = 5 * MINUTE


@pytest.mark.requirement("series:known")
@pytest.mark.parametrize(
    "query", [{"base": "BTC"}, {"market": "binance:perp:BTCUSDT"}, {"base": "ETH", "venue": "bybit"}]
)
def test_a_series_as_known_ends_where_it_ended_then(api: Api, query: dict[str, str]) -> None:
    got = api.series("volume", **query, step="5m", as_known_at=THEN, coverage=1)
    assert (got["start"], got["end"]) == ((THEN - DAY) // FIVE * FIVE, THEN)
    assert got["source"] == f"known_5m@{THEN}"
    now = api.series("volume", **query, step="5m", start=got["start"], end=THEN, coverage=1)
    # The bucket that had just ended had no volume yet, and the one after it had not ended.
    complete = sum(t + FIVE + MINUTE <= THEN for t in now["t"])
    assert len(now["t"]) > complete > 0
    for name in ("t", "n", "origin"):
        assert got[name] == now[name][:complete]
    assert got["v"] == pytest.approx(now["v"][:complete], rel=1e-12)


@pytest.mark.requirement("series:known", "series:by")
@pytest.mark.parametrize("metric", ["oi", "volume", "cvd"])
def test_each_exchange_as_known_is_that_exchange_as_known(api: Api, metric: str) -> None:
    asked = {"base": "BTC", "range": "6h", "step": "15m", "as_known_at": THEN}
    each = api.series(metric, **asked, by="venue")
    assert len(each["venues"]) > 1
    for venue, arrays in each["venues"].items():
        own = api.series(metric, **asked, venue=venue)
        given = {t: v for t, v in zip(each["t"], arrays["v"], strict=True) if v is not None}
        assert given == dict(zip(own["t"], own["v"], strict=True)) != {}


@pytest.mark.requirement("series:known")
def test_a_series_as_known_may_be_cached_for_long_and_has_every_format(api: Api) -> None:
    url = f"/api/series/oi?base=BTC&range=6h&step=5m&as_known_at={THEN}"
    answer = api.get(url)
    assert "max-age=3600" in answer.headers["cache-control"]
    rows = list(csv.reader(io.StringIO(api.get(f"{url}&format=csv").body.decode())))
    assert [int(row[1]) for row in rows[2:]] == answer.json["t"]


@pytest.mark.requirement("series:known:refused")
def test_what_is_not_known_is_refused_with_what_is(api: Api) -> None:
    oldest = AS_OF_MS - 7 * DAY
    bad(api, f"oi?base=BTC&as_known_at={oldest - 1}", "as_known_at", "7 days", str(oldest))
    bad(api, f"oi?base=BTC&as_known_at={AS_OF_MS + 1}", "as_known_at", str(AS_OF_MS))
    bad(api, f"oi?base=BTC&range=8d&as_known_at={AS_OF_MS}", "start", "7 days", str(oldest))
    for step in ("1m", "1d"):
        bad(api, f"oi?base=BTC&step={step}&as_known_at={THEN}", "step", step, "5m, 15m, 1h, 4h")
    for metric in ("spot-perp-volume", "long-short?base=BTC", "ob-depth?base=BTC"):
        mark = "&" if "?" in metric else "?"
        bad(api, f"{metric}{mark}as_known_at={THEN}", "as_known_at", "price", "volume", "liquidations")
