"""What Dagster starts is a fork of a process that has the definitions."""

from collections.abc import Callable
from types import ModuleType

STARTED = """
import multiprocessing, sys
from orchestration.code_location.server import fork_spawned

def say(queue):
    queue.put([name in sys.modules for name in ("orchestration.code_location.definitions", "dagster")])

if __name__ == "__main__":
    fork_spawned()
    context = multiprocessing.get_context("spawn")
    for _ in range(2):
        queue = context.Queue()
        process = context.Process(target=say, args=[queue])
        process.start()
        print(queue.get(timeout=240))
        process.join()
    print([name for name in ("orchestration.code_location.definitions", "dagster") if name in sys.modules])
"""


def test_what_dagster_spawns_has_the_definitions(definitions: ModuleType, said: Callable[..., list[str]]) -> None:
    assert said(STARTED) == ["[True, True]", "[True, True]", "[]"]
