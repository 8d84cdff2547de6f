"""Venues are found by their files: each declares the venue that it is named after, recorded and simulated alike."""

from pathlib import Path

import ingest.venues
import sandbox.venues


def test_each_file_declares_the_venue_that_it_is_named_after() -> None:
    files = sorted(path.stem for path in Path(ingest.venues.__file__).parent.glob("[!_]*.py"))
    assert [venue.name for venue in ingest.venues.VENUES] == files


def test_each_recorded_venue_is_simulated() -> None:
    simulated = [one.venue for one in sandbox.venues.SIMULATED_VENUES]
    assert simulated == [venue.name for venue in ingest.venues.VENUES]
