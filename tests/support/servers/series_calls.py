"""What tests of series ask the server and read from its responses."""

from typing import Any

from tests.support.replica.replica import DAY, LAST, MINUTE
from tests.support.servers.api_server import Api

HOUR = 60 * MINUTE
UNITS = {"m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY, "y": 365 * DAY}


def bad(api: Api, query: str, *named: str, status: int = 400) -> str:
    """The message of a request that must fail; it names all of `named`."""
    answer = api.get(f"/api/series/{query}")
    assert answer.status == status, answer
    for name in named:
        assert name in answer.error
    return answer.error


KINDS = ("accounts", "top_acct", "top_pos", "taker_buy")
OF_RATIOS = ("long-short", "net-positioning", "top-vs-crowd", "whale-vs-retail")
OF_BOOKS = ("ob-depth", "bid-ask-ratio")
DOWN = {"start": LAST - 100 * MINUTE, "end": LAST - 89 * MINUTE, "venue": None, "reason": "recorder_down"}


def rows(got: dict[str, Any], field: str = "v") -> dict[int, Any]:
    return dict(zip(got["t"], got[field], strict=True))
