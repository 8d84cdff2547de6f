"""The rate-limit headers of a response."""

from serve.http.limits import BUDGETS
from tests.support.servers.api_server import Answer

SERIES = "/api/series/price?base=BTC&range=2h"


def budget(answer: Answer) -> tuple[int, int]:
    """Limit and remaining requests; both kinds of rate-limit headers must agree."""
    headers = answer.headers
    limit, remaining, reset = (int(headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))
    assert 1 <= reset <= 60
    name = headers["ratelimit"].split('"')[1]
    assert limit in BUDGETS[name]
    assert headers["ratelimit-policy"] == f'"{name}";q={limit};w=60'
    assert headers["ratelimit"] == f'"{name}";r={remaining};t={reset}'
    return limit, remaining
