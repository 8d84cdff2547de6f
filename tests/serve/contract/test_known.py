"""The coin and the market of a request: found in the replica, or a 404 that names what there is none of."""

import pytest

from serve.contract.errors import ApiError
from serve.contract.known import known_coin, known_market
from serve.replica.edition import Reader


@pytest.mark.requirement("series:base:case", "series:base:unknown")
def test_a_coin_is_known_in_any_spelling(reader: Reader) -> None:
    assert [known_coin(reader.edition, asked) for asked in ("btc", "XYZ:tsla")] == ["BTC", "xyz:TSLA"]
    for asked in ("NOPE", "", "BTC3L@gate"):
        with pytest.raises(ApiError, match="unknown coin") as refused:
            known_coin(reader.edition, asked)
        assert refused.value.status == 404


@pytest.mark.requirement("series:market:unknown")
def test_a_market_is_known_by_its_id_alone(reader: Reader) -> None:
    market = known_market(reader.edition, "binance:perp:BTCUSDT")
    assert (market.venue, market.type, market.base) == ("binance", "perp", "BTC")
    for asked in ("binance:perp:btcusdt", "BTCUSDT", ""):
        with pytest.raises(ApiError, match="unknown market") as refused:
            known_market(reader.edition, asked)
        assert refused.value.status == 404
