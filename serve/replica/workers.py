"""Threads for queries. What comes goes to the thread that became idle last.

`ThreadPoolExecutor` gives it to the one that has been idle longest: a query after a burst of others then finds neither
a core awake nor caches warm, and takes a seventh longer.
"""

import threading
from collections import deque
from collections.abc import Callable

Work = Callable[[], None]


class _Worker:
    """One thread's next piece of work, and the lock that it waits for."""

    def __init__(self) -> None:
        self.work: Work | None = None
        self._given = threading.Lock()
        self._given.acquire()

    def give(self, work: Work | None) -> None:
        """Let it do this, or end."""
        self.work = work
        self._given.release()

    def wait(self) -> Work | None:
        """What it is given."""
        self._given.acquire()
        return self.work


class Workers:
    """At most `count` threads, each started when the others are busy. What they run must raise nothing."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads: list[threading.Thread] = []
        self._idle: list[_Worker] = []
        self._waiting: deque[Work] = deque()
        self._ending = False
        self._lock = threading.Lock()

    def submit(self, work: Work) -> None:
        """Run it in a thread, after what was submitted before."""
        with self._lock:
            if self._idle:
                self._idle.pop().give(work)
            elif len(self._threads) < self.count:
                thread = threading.Thread(target=self._serve, args=(work,), daemon=True, name="query")
                self._threads.append(thread)
                thread.start()
            else:
                self._waiting.append(work)

    def withdraw(self, work: Work) -> bool:
        """Whether no thread had taken it yet, and none will."""
        with self._lock:
            try:
                self._waiting.remove(work)
            except ValueError:
                return False
            return True

    def end(self) -> None:
        """Let the threads end when they have done all that was submitted, and wait for that."""
        with self._lock:
            self._ending = True
            while self._idle:
                self._idle.pop().give(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, first: Work) -> None:
        worker, work = _Worker(), first
        while True:
            work()
            with self._lock:
                if self._waiting:
                    work = self._waiting.popleft()
                    continue
                if self._ending:
                    return
                self._idle.append(worker)
            given = worker.wait()
            if given is None:
                return
            work = given
