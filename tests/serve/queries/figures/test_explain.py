"""The bucket of a number: the same for the endpoint and the tool, whatever of it they show."""

import pytest

from serve.contract.errors import BadParameter
from serve.queries.figures.explain import read_explanation, resolve_explain
from serve.replica.edition import Reader
from tests.support.replica.replica import AS_OF_MS, MINUTE
from tests.support.servers.api_server import Api

HOUR = 60 * MINUTE
T = AS_OF_MS - AS_OF_MS % HOUR - 2 * HOUR
ASKED = {
    **dict.fromkeys(("market", "range", "start", "end", "venue", "type", "kind", "of", "minute", "after")),
    "metric": "oi", "base": "BTC", "step": "1h", "body": "0", "limit": "2",
}  # fmt: skip


@pytest.mark.requirement("explain:values")
def test_a_page_has_the_first_markets_and_the_sum_of_all(api: Api, reader: Reader) -> None:
    query = resolve_explain({**ASKED, "t": T + MINUTE}, reader.edition, False)
    assert (query.series.start, query.series.end, query.limit, query.bodies) == (T, T + HOUR, 2, False)
    found = read_explanation(query, reader)
    series = api.series("oi", base="BTC", step="1h", start=T, end=T + HOUR)
    assert (found["values"]["v"], found["total"], len(found["markets"])) == (series["v"][0], 4, 2)
    assert found["sums"]["v"] == pytest.approx(series["v"][0])
    assert found["next"] == found["markets"][-1]["market_id"]


@pytest.mark.requirement("explain:bad")
def test_a_time_without_data_is_refused(reader: Reader) -> None:
    for wrong in ({"t": AS_OF_MS}, {"t": T, "minute": T + HOUR}, {"t": T, "start": T + HOUR, "end": T + 2 * HOUR}):
        with pytest.raises(BadParameter):
            resolve_explain({**ASKED, **wrong}, reader.edition, False)
