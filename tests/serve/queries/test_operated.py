"""What an edition says of its exchanges, from the small replica."""

import pytest

from serve.queries.operated import venue_states
from serve.replica.edition import Reader


@pytest.mark.requirement("operated:metrics")
def test_each_exchange_has_its_newest_minutes(reader: Reader) -> None:
    states = venue_states(reader)
    recorded = {row["venue"]: row for row in reader.rows("from recording_status")}
    assert states.keys() == recorded.keys()
    newest = reader.value("select max(last_ms) from market_index")
    for venue, state in states.items():
        markets = reader.value(
            "select count(*) from market_index as one where one.venue = ? and last_ms >= ?", [venue, newest - 120_000]
        )
        row = recorded[venue]
        assert state == (row["last_good_ms"], row["ok_endpoints"], row["failed_endpoints"], markets)
    assert sum(state.markets for state in states.values()) > 0
