"""Rules for every declared endpoint and stream, so that each of them can be recorded."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.declaration.endpoint import Endpoint, Keys, Request, Stream
from ingest.landing.rows import canonical
from ingest.venues import VENUES

ENDPOINTS = [(venue.name, endpoint) for venue in VENUES for endpoint in venue.endpoints]
STREAMS = [(venue.name, stream) for venue in VENUES for stream in venue.streams]
REQUESTS = [Request("", 1_790_000_040_000, bars) for bars in (1, 99)]
each_endpoint = pytest.mark.parametrize("endpoint", [pytest.param(e, id=f"{v}-{e.name}") for v, e in ENDPOINTS])
each_stream = pytest.mark.parametrize("stream", [pytest.param(s, id=f"{v}-{s.name}") for v, s in STREAMS])


@each_endpoint
def test_an_endpoint_is_asked_on_whole_minutes_with_parameters_that_can_be_landed(endpoint: Endpoint) -> None:
    assert endpoint.every_s % 60 == 0
    assert endpoint.method in ("GET", "POST")
    assert endpoint.path.startswith("/")
    if not callable(endpoint.params):
        assert json.loads(canonical(endpoint.params)) == endpoint.params
    weights = [endpoint.weight(one) if callable(endpoint.weight) else endpoint.weight for one in REQUESTS]
    assert 0 < weights[0] <= weights[1], "more bars weigh no less"


@each_endpoint
def test_a_path_has_a_key_only_where_there_are_keys(endpoint: Endpoint) -> None:
    assert "{key}" not in endpoint.path or endpoint.fan_out is not None
    assert endpoint.path.format(key="BTC").count("{") == 0
    if endpoint.bars:
        assert 0 < endpoint.bars.usual <= endpoint.bars.first <= endpoint.bars.most


@each_endpoint
def test_rotated_keys_divide_into_whole_steps(endpoint: Endpoint) -> None:
    fan_out = endpoint.fan_out
    if fan_out is not None and fan_out.rest_s is not None:
        assert fan_out.top is not None, "every key is requested each time: none is left for a turn"
        assert fan_out.rest_s % endpoint.every_s == 0


def sources(endpoint: Endpoint) -> Iterator[Keys]:
    fan_out = endpoint.fan_out
    for source in (fan_out.of, fan_out.within, fan_out.without) if fan_out else ():
        if source is not None:
            yield source
            if source.times is not None:
                yield source.times


@pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)
def test_keys_come_from_bodies_of_the_venue_and_the_times_of_those_too(venue: Any) -> None:
    names = {endpoint.name for endpoint in venue.endpoints}
    assert {source.endpoint for endpoint in venue.endpoints for source in sources(endpoint)} <= names


@each_stream
def test_a_stream_that_is_subscribed_to_has_topics_and_outlives_its_heartbeats(stream: Stream) -> None:
    assert (stream.topics is None) == (stream.subscribe is None)
    assert stream.refused is None or stream.subscribe is not None, "nothing is subscribed to that could be refused"
    assert stream.heartbeat_s < stream.silence_s < stream.life_s
    if stream.topics is None:
        assert (stream.connections, stream.topics_each) == (1, None)
