"""A fork sees the dbt project as it is now."""

from collections.abc import Callable
from types import ModuleType

CHANGED = """
import os, sys
from orchestration.code_location import forked

def ours():
    return sum(name.split(".")[0] == "orchestration" for name in sys.modules)

forked.NOTED += sys.argv[1]
if os.fork() == 0:
    print(ours(), flush=True)
    from orchestration.code_location import definitions
    print(definitions.defs.resolve_job_def("minute").name, flush=True)
    os._exit(0)
os.wait()
print(ours() > 10)
"""


def test_a_run_imports_them_again_where_the_project_has_changed(
    definitions: ModuleType, said: Callable[..., list[str]]
) -> None:
    assert said(CHANGED, "a changed file") == ["0", "minute", "True"]


def test_a_run_has_them_where_nothing_has_changed(definitions: ModuleType, said: Callable[..., list[str]]) -> None:
    before, *rest = said(CHANGED, "")
    assert int(before) > 10
    assert rest == ["minute", "True"]
