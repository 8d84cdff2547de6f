"""The threads of queries: as many as there may be, in order, the last idle one first."""

import threading

import pytest

from serve.replica.workers import Workers
from tests.support.servers.api_server import until

TIMEOUT_S = 20


class Step:
    """Work that says who does it and waits until it may end."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.done = threading.Event(), threading.Event(), threading.Event()
        self.thread = 0

    def __call__(self) -> None:
        self.thread = threading.get_ident()
        self.begun.set()
        assert self.go_on.wait(TIMEOUT_S)
        self.done.set()

    def end(self) -> None:
        self.go_on.set()
        assert self.done.wait(TIMEOUT_S)


def begun(workers: Workers) -> Step:
    """A step that a thread is at."""
    step = Step()
    workers.submit(step)
    assert step.begun.wait(TIMEOUT_S)
    return step


def settled(workers: Workers, idle: int) -> None:
    """Wait until so many threads are idle: a thread says so after its work has ended."""
    until(lambda: len(workers._idle), lambda count: count == idle)


@pytest.mark.requirement("edition:busy")
def test_the_thread_that_became_idle_last_does_what_comes() -> None:
    workers = Workers(3)
    steps = [begun(workers) for _ in range(3)]
    assert len({step.thread for step in steps}) == 3
    for step, idle in ((steps[2], 1), (steps[0], 2), (steps[1], 3)):
        step.end()
        settled(workers, idle)
    for _ in range(4):
        again = begun(workers)
        assert again.thread == steps[1].thread
        again.end()
        settled(workers, 3)
    pair = begun(workers), begun(workers)
    assert [step.thread for step in pair] == [steps[1].thread, steps[0].thread]
    for step in pair:
        step.end()
    workers.end()


@pytest.mark.requirement("edition:busy")
def test_what_waits_is_done_in_order_unless_it_is_withdrawn() -> None:
    workers, order = Workers(1), list[int]()
    first = begun(workers)
    later = [lambda number=number: order.append(number) for number in range(4)]
    for one in later:
        workers.submit(one)
    assert workers.withdraw(later[1])
    assert not workers.withdraw(later[1])
    assert not workers.withdraw(first)
    first.end()
    workers.end()
    assert order == [0, 2, 3]


@pytest.mark.requirement("edition:released")
def test_the_end_waits_for_all_that_was_submitted() -> None:
    workers, done = Workers(2), list[int]()
    held = [begun(workers) for _ in range(2)]
    workers.submit(lambda: done.append(1))
    ending = threading.Thread(target=workers.end)
    ending.start()
    for step in held:
        step.end()
    ending.join(TIMEOUT_S)
    assert not ending.is_alive()
    assert done == [1]
    assert not any(thread.is_alive() for thread in workers._threads)
    Workers(2).end()
