"""What prices did after volume spikes: each spike has every horizon, known or pending."""

import pytest

from serve.queries.spikes import HORIZONS_MIN, read_outcomes
from serve.replica.edition import Reader


@pytest.mark.requirement("mcp:outcomes")
def test_every_spike_has_every_horizon(reader: Reader) -> None:
    spikes = reader.rows("select id, ts from spikes order by ts desc limit 200")
    found = read_outcomes(reader, spikes)
    assert set(found) == {spike["id"] for spike in spikes}
    assert all(tuple(one["horizon_min"] for one in outcomes) == HORIZONS_MIN for outcomes in found.values())
    states = {one["state"] for outcomes in found.values() for one in outcomes}
    assert states == {"observed", "pending", "unavailable"}
    for one in (one for outcomes in found.values() for one in outcomes):
        assert (one["return"] is not None) == (one["state"] == "observed")
        assert (one["reason"] is not None) == (one["state"] == "unavailable")


@pytest.mark.requirement("mcp:outcomes")
def test_of_no_spikes_there_is_nothing_and_of_unknown_ones_all_is_pending(reader: Reader) -> None:
    assert read_outcomes(reader, []) == {}
    [outcomes] = read_outcomes(reader, [{"id": -1, "ts": 0}]).values()
    assert [one["state"] for one in outcomes] == ["pending"] * len(HORIZONS_MIN)
