"""What follows from a venue's declaration: the markets of its past, and where a request goes."""

from dataclasses import replace

import pytest

from ingest.declaration.endpoint import Endpoint, FanOut, Keys, Pool
from ingest.declaration.history import History
from ingest.declaration.venue import Venue, url_of

TRADED, DELISTED = Keys("tickers", lambda body: []), Keys("instruments", lambda body: [])
BARS = Endpoint("perp_bars", "host", "/bars", "all", fan_out=FanOut(TRADED, without=DELISTED, top=5, rest_s=3600))
BULK = Endpoint("settlements", "host", "/settled", "all")
PAST = History("perp_bars", "1h", "host", "/bars", "all", lambda piece: {}, lambda body: body, 10, "span", 30)
VENUE = Venue("test", (Pool("all", 10, 1),), (BARS, BULK), history=(PAST,))


def test_the_past_is_asked_of_every_market_that_ever_traded() -> None:
    assert VENUE.markets_of(PAST) == FanOut(TRADED)
    assert VENUE.markets_of(replace(PAST, endpoint="taker_history", like="perp_bars")) == FanOut(TRADED)
    assert VENUE.markets_of(replace(PAST, endpoint="settlements")) is None, "one request without a key"


@pytest.mark.parametrize(
    ("venues_url", "websocket", "url"),
    [
        (None, False, "https://api.test/v1/x"),
        (None, True, "wss://api.test/v1/x"),
        ("http://127.0.0.1:8009", False, "http://127.0.0.1:8009/api.test/v1/x"),
        ("http://127.0.0.1:8009/", True, "ws://127.0.0.1:8009/api.test/v1/x"),
        ("https://sandbox.test", True, "wss://sandbox.test/api.test/v1/x"),
    ],
)
def test_a_request_goes_to_the_exchange_or_to_the_sandbox(venues_url: str | None, websocket: bool, url: str) -> None:
    assert url_of("api.test", "/v1/x", venues_url, websocket=websocket) == url
