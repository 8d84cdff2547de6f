"""GET /api/altcoin-season: the index, its history and its coins."""

import math

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.replica.replica_statistics import DAY, date
from tests.support.servers.api_server import Api

SEASON = "/api/altcoin-season"
TODAY = AS_OF_MS - AS_OF_MS % DAY


@pytest.mark.requirement("altcoin:shape", "altcoin:history")
def test_altcoin_season(api: Api) -> None:
    content = api.get(SEASON).json
    values = {n: 50 + 50 * math.cos(n / 20) for n in range(1, 367) if n not in (3, 200)}
    history = [[TODAY - n * DAY, pytest.approx(values[n], abs=1e-9)] for n in sorted(values, reverse=True)]
    assert content.pop("history") == history
    assert [coin["base"] for coin in content["coins"]] == ["ETH", "SOL", "ADA", "XRP"]
    assert content.pop("coins")[0] == {
        "rank": 1, "base": "ETH", "symbol": "ETHUSDT", "return_90d": 0.35, "vs_btc": 0.25, "beat_btc": True,
    }  # fmt: skip
    excluded = [{"base": "BTC", "reason": "benchmark"}, {"base": "YNG", "reason": "young"}]
    alt = [n for n in values if values[n] >= 75]
    btc = [n for n in values if values[n] <= 25]
    entered = {
        name: min(n for n in days if n + 1 in values and n + 1 not in days)
        for name, days in (("alt", alt), ("btc", btc))
    }
    assert content == {
        "value": pytest.approx(values[1]), "zone": "altcoin_season", "date": date(TODAY - DAY), "provisional": False,
        "as_of": AS_OF_MS, "source": "altcoin_season@e1842, ranked by the 30-day mean of daily USD volume",
        "value_30d_ago": pytest.approx(values[31]), "window_days": 90, "alt_season_min": 75, "btc_season_max": 25,
        "n_coins": 4, "n_beat_btc": 3, "n_universe": 9, "btc_return": 0.1, "excluded": excluded,
        "high_1y": pytest.approx(max(values.values())), "low_1y": pytest.approx(min(values.values())),
        "days_alt_season_1y": len(alt), "days_btc_season_1y": len(btc),
        "last_cross_alt_season": date(TODAY - entered["alt"] * DAY),
        "last_cross_btc_season": date(TODAY - entered["btc"] * DAY),
    }  # fmt: skip
