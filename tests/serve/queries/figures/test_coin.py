"""One coin's figures, read as the endpoint and the tool read them."""

import orjson
import pytest

from serve.queries.figures.coin import read_coin_detail
from serve.replica.edition import Reader
from tests.support.servers.api_server import Api


@pytest.mark.requirement("coin:values")
def test_a_coin_is_read_by_its_canonical_name(api: Api, reader: Reader) -> None:
    for base in ("BTC", "xyz:TSLA"):
        body = read_coin_detail(reader, base)
        assert body
        assert orjson.loads(body.data) == api.get(f"/api/coin/{base.lower()}").json
    assert read_coin_detail(reader, "GONE") is None
