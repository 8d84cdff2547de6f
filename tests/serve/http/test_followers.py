"""Places of connections that stay open, and what wakes them."""

import asyncio
import contextlib

import pytest

from serve.contract.errors import ApiError
from serve.http.followers import MOST, MOST_OF_ADDRESS, Followers


@pytest.mark.requirement("events:bounded")
def test_places_end_with_their_blocks() -> None:
    followers = Followers()
    with contextlib.ExitStack() as taken:
        for number in range(MOST):
            taken.enter_context(followers.place(f"address {number % (MOST // MOST_OF_ADDRESS)}"))
        with pytest.raises(ApiError, match=f"more than {MOST_OF_ADDRESS}") as of_address, followers.place("address 1"):
            pass
        with pytest.raises(ApiError, match=f"all {MOST}") as of_all, followers.place("another"):
            pass
        assert [refused.value.status for refused in (of_address, of_all)] == [429, 503]
    with followers.place("address 1"), followers.place("another"):
        pass


@pytest.mark.requirement("events:editions")
def test_a_change_wakes_those_who_wait_for_it_and_no_later_ones() -> None:
    async def scenario() -> None:
        followers = Followers()
        first = followers.change
        followers.wake()
        assert first.is_set()
        assert not followers.change.is_set()
        second = asyncio.create_task(followers.change.wait())
        await asyncio.sleep(0)
        followers.end()
        await second
        assert followers.ended

    asyncio.run(scenario())
