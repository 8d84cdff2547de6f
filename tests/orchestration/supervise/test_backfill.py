"""Requests for a backfill: what is offered, and the words for what is not."""

import pytest

from ingest.venues import VENUES
from orchestration.supervise.backfill import WrongRequest, offered, wanted


def test_kinds_are_offered_by_the_venues_that_declare_a_history() -> None:
    declared = {venue.name: [one.name for one in venue.past] for venue in VENUES}
    assert offered() == {name: kinds for name, kinds in declared.items() if kinds}


@pytest.mark.parametrize(
    ("venues", "kinds", "begin", "end", "words"),
    [
        (["nope"], [], None, None, "--venue is 'nope', but it must be one of: "),
        (["binance"], ["nope"], None, None, "--kind is 'nope', but the history of binance has: "),
        ([], [], "soon", None, "--from is 'soon', but it must be a UTC day or time"),
        ([], [], "2024-02-01", "2024-01-01", "--from is '2024-02-01', but it must lie before --to"),
        ([], [], None, "9999-01-01", "--to is '9999-01-01', but it must lie in the past"),
    ],
)
def test_a_wrong_request_is_refused_by_name(
    venues: list[str], kinds: list[str], begin: str | None, end: str | None, words: str
) -> None:
    with pytest.raises(WrongRequest) as refused:
        wanted(venues, kinds, begin, end)
    assert str(refused.value).startswith(words)


def test_a_request_is_in_utc_and_whole() -> None:
    request = wanted(["binance"], [], "2024-01-01", "2024-01-02T00:00:00+01:00", again=True)
    assert (request.venues, request.kinds, request.again) == (["binance"], None, True)
    assert (request.begin_ms, request.end_ms) == (1_704_067_200_000, 1_704_150_000_000)
