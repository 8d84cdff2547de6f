"""The declarations of the simulated venues hold together: hosts, rate limits, endpoints, liquidations."""

import pytest

from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.venues import SIMULATED_VENUES

WORLD = build_world(build_universe("small"), 1, Clock(fixed_ms=ANCHOR_MS))
each_venue = pytest.mark.parametrize("one", SIMULATED_VENUES, ids=lambda one: one.venue)


@each_venue
def test_an_endpoint_has_a_host_and_a_rate_limit_of_its_venue(one: SimulatedVenue) -> None:
    endpoints = one.endpoints(WORLD)
    assert {endpoint.venue for endpoint in endpoints} == {one.venue}
    assert {endpoint.host for endpoint in endpoints} <= set(one.hosts)
    idle = set(one.pools) - {endpoint.pool for endpoint in endpoints}
    assert not idle or one.sockets is not None, "a limit that nothing counts against"
    assert {endpoint.pool for endpoint in endpoints} <= set(one.pools)
    assert {endpoint.method for endpoint in endpoints} <= {"GET", "HEAD", "POST"}
    routes = [(endpoint.method, endpoint.host, endpoint.path) for endpoint in endpoints]
    assert len(set(routes)) == len(routes)


@each_venue
def test_a_pool_is_named_after_its_venue_and_admits_every_request(one: SimulatedVenue) -> None:
    assert all(name == one.venue or name.startswith(f"{one.venue}_") for name in one.pools)
    assert all(pool.limit > 0 and pool.window_ms >= 1000 for pool in one.pools.values())
    for endpoint in one.endpoints(WORLD):
        assert endpoint.weight <= one.pools[endpoint.pool].limit, endpoint.path


@each_venue
def test_venues_with_liquidations_declare_their_window_and_a_socket(one: SimulatedVenue) -> None:
    assert (one.frames is None) == (one.liquidation_window_ms is None and one.holders is None)
    assert one.sockets is not None or one.frames is None


def test_no_two_venues_share_a_host_or_a_rate_limit() -> None:
    hosts = [host for one in SIMULATED_VENUES for host in one.hosts]
    pools = [name for one in SIMULATED_VENUES for name in one.pools]
    assert len(set(hosts)) == len(hosts)
    assert len(set(pools)) == len(pools)
