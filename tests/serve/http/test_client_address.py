"""A client's address behind trusted proxies."""

import pytest

from tests.support.servers.api_server import Answer, Api, in_one_minute, some_address
from tests.support.servers.budgets import SERIES, budget


@pytest.mark.requirement("limits:proxy")
def test_the_address_is_the_nearest_that_is_no_trusted_proxy(api: Api) -> None:
    """Whatever a client claims stands left of what its proxy adds."""

    def scenario() -> list[Answer]:
        who = some_address()
        claims = (who, f"8.8.8.8, {who}", f"{who}, 127.0.0.9", f"nonsense, {who}", f"::ffff:{who}", f"{who}:4711")
        of_six = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "[2001:db8:1:2::3]:443", "[2001:db8:1:2::4]")
        six = [api.get(SERIES, X_Forwarded_For=address) for address in of_six]
        return [*(api.get(SERIES, X_Forwarded_For=claim) for claim in claims), *six]

    answers = in_one_minute(scenario)
    *of_four, first, second, third, fourth = [budget(answer)[1] for answer in answers]
    assert of_four == [29, 28, 27, 26, 25, 24]
    assert [second, third, fourth] == [first - 1, first - 2, first - 3]
