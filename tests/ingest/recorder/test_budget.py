"""Rate limits and bans: the weight of a window is never exceeded, waits go in order, the longest ban counts."""

import asyncio
import selectors
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.declaration.endpoint import Pool
from ingest.recorder.budget import PROBE_MS, Bans, Budget, Bytes


class Jump(selectors.DefaultSelector):
    """A selector that does not wait for what is due later: its clock jumps there."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        self.now_s += 0.0 if ready else timeout or 0.0
        return ready


class Loop(asyncio.SelectorEventLoop):
    """An event loop with the time of such a selector: hours of a rate limit pass at once."""

    def __init__(self) -> None:
        self.jump = Jump()
        super().__init__(self.jump)

    def time(self) -> float:
        return self.jump.now_s


@dataclass
class Sent:
    """A request that the venue counts from `at` until a window after `ended`."""

    number: int
    weight: int
    at: float
    ended: float


def requests(pool: Pool, wanted: list[tuple[int, float]], *, history: bool = False) -> list[Sent]:
    """Send requests of (weight, seconds until the response), all asked for at once."""
    sent: list[Sent] = []

    async def one(budget: Budget, number: int, weight: int, takes_s: float) -> None:
        loop = asyncio.get_running_loop()
        assert await budget.take(weight, loop.time() + 1e6)
        at = loop.time()
        await asyncio.sleep(takes_s)
        sent.append(Sent(number, weight, at, loop.time()))
        budget.give_back(weight)

    async def everyone() -> None:
        budget = Budget(pool, history=history)
        await asyncio.gather(*(one(budget, number, *request) for number, request in enumerate(wanted)))

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(everyone())
    return sorted(sent, key=lambda one: one.number)


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 90)), max_size=30), st.booleans())
def test_no_window_holds_more_than_the_share(wanted: list[tuple[int, float]], history: bool) -> None:
    """Wherever between sending and answering a venue counts a request, its limit holds."""
    pool = Pool("all", 12, 60, history=5)
    sent = requests(pool, wanted, history=history)
    assert [one.weight for one in sent] == [weight for weight, _ in wanted]
    share = 5 if history else 7
    for at in [one.at for one in sent]:
        assert sum(one.weight for one in sent if one.at <= at < one.ended + 60) <= share
    assert [one.at for one in sent] == sorted(one.at for one in sent), "in order of the calls"


async def test_what_cannot_have_room_in_time_is_refused_without_waiting() -> None:
    budget = Budget(Pool("all", 3, 3600))
    now = asyncio.get_running_loop().time()
    assert await budget.take(3, now + 10)
    assert not budget.has_room(1)
    budget.give_back(3)
    # Room comes an hour after the response: nobody waits for a deadline before that.
    assert not await budget.take(1, now + 600)
    assert not budget.has_room(1)


async def test_weight_that_was_not_sent_is_free_at_once() -> None:
    budget = Budget(Pool("all", 3, 3600))
    deadline = asyncio.get_running_loop().time() + 7200
    assert await budget.take(3, deadline)
    waiting = asyncio.create_task(budget.take(2, deadline))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.give_back(3, sent=False)
    assert await waiting
    assert budget.has_room(1)
    assert not budget.has_room(2)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 100)), max_size=12), st.integers(0, 110))
def test_the_longest_ban_of_any_scope_is_in_force_until_it_ends(added: list[tuple[str, int]], now: int) -> None:
    bans = Bans()
    for scope, until in added:
        bans.add(scope, until, f"{scope} {until}")
    ends = [until for scope, until in added if scope in "ab" and until > now]
    found = bans.in_force(("a", "b"), now)
    assert (found[0] if found else None) == max(ends, default=None)
    assert found is None or found[1].endswith(f" {found[0]}"), "the reason is that of the ban in force"


def test_a_scope_without_a_ban_is_free() -> None:
    assert Bans().in_force(("host", "pool all"), 0) is None


@pytest.mark.parametrize(("history", "limit"), [(False, 70), (True, 30)])
def test_recorder_and_backfill_share_a_limit_between_them(history: bool, limit: int) -> None:
    assert Budget(Pool("all", 100, 60, history=30), history=history).limit == limit


def test_after_a_pause_that_was_cut_one_request_goes_first() -> None:
    bans, scopes = Bans(), ("host", "pool all")
    bans.add("host", 1000, "banned", capped=True)
    assert bans.in_force(scopes, 999) == (1000, "banned")
    assert bans.in_force(scopes, 1000) is None
    bans.probe(scopes, 1000)
    assert bans.in_force(scopes, 1001) == (1000 + PROBE_MS, "banned; asked again")
    bans.lift(scopes)
    assert bans.in_force(scopes, 1002) is None
    # Refused again, it is in force again; an answer to a pause as it was asked for lifts nothing.
    bans.add("host", 5000, "banned", capped=True)
    bans.probe(scopes, 5000)
    bans.add("host", 900_000, "banned again")
    bans.lift(scopes)
    assert bans.in_force(scopes, 6000) == (900_000, "banned again")


def test_a_probe_that_is_never_answered_lets_another_follow() -> None:
    bans = Bans()
    bans.add("host", 1000, "banned", capped=True)
    bans.probe(("host",), 1000)
    assert bans.in_force(("host",), 1000 + PROBE_MS) is None


@given(st.lists(st.tuples(st.integers(0, 200_000), st.integers(0, 60)), max_size=30))
def test_bytes_are_counted_by_the_minute(taken: list[tuple[int, int]]) -> None:
    """Times do not go back: the clock of a minute is that of the newest bytes."""
    bytes_, of_minute = Bytes(100), Counter[int]()
    for at_ms, size in sorted(taken):
        of_minute[at_ms // 60_000] += size
        assert bytes_.take(size, at_ms) == bytes_.spent(at_ms) == (of_minute[at_ms // 60_000] > 100)
    assert not bytes_.spent(10**9)
