"""The response cache: bounded, one computation for simultaneous equal requests, failures not cached."""

import asyncio

import pytest

from serve.http.cache import ResponseCache, StoredResponse


def body(size: int) -> StoredResponse:
    """A response of `size` bytes."""
    return StoredResponse(b"x" * size, {})


@pytest.mark.requirement("cache:bounded")
async def test_the_oldest_responses_are_evicted() -> None:
    cache = ResponseCache(max_bytes=1000)

    async def make(size: int) -> StoredResponse:
        return body(size)

    for number in range(20):
        await cache.build(f"key {number}", lambda: make(100))
    assert cache.size <= 1000
    assert cache.get("key 0") is None
    assert cache.get("key 19") == body(100)
    assert await cache.build("huge", lambda: make(5000)) == body(5000)
    assert cache.get("huge") is None
    await cache.clear()
    assert (cache.size, cache.get("key 19")) == (0, None)


@pytest.mark.requirement("http:stampede")
async def test_equal_requests_are_computed_once_even_if_the_first_client_leaves() -> None:
    cache, begun, go, built = ResponseCache(), asyncio.Event(), asyncio.Event(), []

    async def make() -> StoredResponse:
        built.append(1)
        begun.set()
        await go.wait()
        return body(10)

    first = asyncio.create_task(cache.build("key", make))
    others = [asyncio.create_task(cache.build("key", make)) for _ in range(5)]
    await begun.wait()
    first.cancel()
    go.set()
    assert await asyncio.gather(*others) == [body(10)] * 5
    assert built == [1]


@pytest.mark.requirement("http:unwanted")
async def test_what_no_client_waits_for_is_not_made_and_who_asks_then_begins_it_again() -> None:
    cache, begun, go = ResponseCache(), asyncio.Event(), asyncio.Event()
    ended = []

    async def make() -> StoredResponse:
        begun.set()
        try:
            await go.wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return body(10)

    waiting = [asyncio.create_task(cache.build("key", make)) for _ in range(3)]
    await begun.wait()
    for left in waiting:
        left.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    again = asyncio.create_task(cache.build("key", make))
    await asyncio.sleep(0)
    go.set()
    assert await again == body(10)
    assert ended == ["cancelled"]


@pytest.mark.requirement("http:stampede")
async def test_a_failure_is_raised_to_all_and_not_cached() -> None:
    cache = ResponseCache()

    async def fail() -> StoredResponse:
        raise ValueError("no")

    async def make() -> StoredResponse:
        return body(1)

    results = await asyncio.gather(*(cache.build("key", fail) for _ in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["no"] * 3
    assert await cache.build("key", make) == body(1)
