"""GET /api/xray and of a perp: what they refuse."""

import pytest

from tests.support.servers.api_server import Api

PERP = "binance:perp:BTCUSDT"


@pytest.mark.requirement("xray:ranking")
def test_no_rows_are_an_empty_ranking(api: Api) -> None:
    got = api.get("/api/xray?min_oi_usd=100000000").json
    assert (got["t"], got["rows"], set(got["counts"].values())) == (None, [], {0})
    assert "use one of 0.5, 1, 2, 5" in api.get("/api/xray?band_pct=3").error


@pytest.mark.requirement("xray:history")
def test_what_the_history_refuses(api: Api) -> None:
    assert api.get("/api/xray/binance:perp:NOPE").status == 404
    assert "perps only" in api.get("/api/xray/binance:spot:BTCUSDT").error
    assert "2000 points: at most 166h of 5m" in api.get(f"/api/xray/{PERP}?range=7d&step=5m").error
