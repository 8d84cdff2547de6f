"""Requests for a backfill: what is offered, and the words for what is not."""

from pathlib import Path

import pytest

from ingest.backfill.progress import BackfillState, Estimate
from ingest.venues import VENUES
from orchestration.supervise.backfill import WrongRequest, estimated, offered, wanted


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


@pytest.mark.parametrize(
    ("text", "symbols", "top"),
    [("top50", None, 50), ("BTCUSDT, ETHUSDT", ["BTCUSDT", "ETHUSDT"], None), ("top0", ["top0"], None)],
)
def test_symbols_are_a_number_of_markets_or_names(text: str, symbols: list[str] | None, top: int | None) -> None:
    request = wanted([], [], None, None, symbols=text, dry_run=True)
    assert (request.symbols, request.top, request.dry_run) == (symbols, top, True)
    with pytest.raises(WrongRequest, match="--symbols is 'BTCUSDT,', but it must be as top50 or as BTCUSDT,ETHUSDT"):
        wanted([], [], None, None, symbols="BTCUSDT,")


def test_what_is_missing_in_all_takes_as_long_as_the_slowest_rate_limit() -> None:
    state = BackfillState(1, 0, Path("state.json"), written=False)
    assert estimated(state) == "nothing is missing"
    state.fail("gate", "perp_minutes_history: no answer", 0)
    assert estimated(state) == "no estimate: the lists of gate cannot be read"
    for name, pool, seconds in (("perp_bars_1m", "rest", 400.0), ("perp_bars_1h", "rest", 200.0)):
        state.estimate("a", Estimate(name, pool, 2, 10, seconds))
    state.estimate("b", Estimate("metrics_history", "archive", 2, 8, 300.0, 4, 2_000_000))
    assert estimated(state) == "to fetch: 4 files, 2.0 MB (about 0.02 GB on disk); 28 requests, about 10 min"
    without_list = Estimate("funding_history", "archive", 1, 5, 10.0, 5, None)
    state.estimate("c", without_list)
    both = "to fetch: 4 files, 2.0 MB (about 0.02 GB on disk) and 5 of unknown size; 33 requests, about 10 min"
    assert estimated(state) == f"{both} for the requests alone"
    alone = "5 files of unknown size, 1 markets, less than 2 min for the requests alone"
    assert str(without_list) == f"funding_history: {alone}"


def test_a_request_is_in_utc_and_whole() -> None:
    request = wanted(["binance"], [], "2024-01-01", "2024-01-02T00:00:00+01:00", again=True)
    assert (request.venues, request.kinds, request.again) == (["binance"], None, True)
    assert (request.begin_ms, request.end_ms) == (1_704_067_200_000, 1_704_150_000_000)


def test_a_folder_goes_with_the_files_of_one_exchange(tmp_path: Path) -> None:
    kinds = ["contexts_history"]
    request = wanted(["hyperliquid"], kinds, None, None, folder=tmp_path)
    assert (request.folder, request.kinds) == (tmp_path, kinds)
    for venues, named in ((["hyperliquid"], []), ([], kinds), (["hyperliquid"], ["perp_bars"])):
        with pytest.raises(WrongRequest, match="which goes with the files of one exchange"):
            wanted(venues, named, None, None, folder=tmp_path)
    with pytest.raises(WrongRequest, match="but it must be a folder that exists"):
        wanted(["hyperliquid"], kinds, None, None, folder=tmp_path / "none")
