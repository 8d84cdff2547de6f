"""Changes of dbt in a process of many runs: each of its parts is where the change expects it, and works as before."""

import inspect
from typing import Any

import pytest
from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.clients.jinja import get_environment, get_template
from dbt_common.events.base_types import EventLevel
from dbt_common.events.event_manager import EventManager
from dbt_common.events.types import Formatting, Note

from orchestration.warehouse.dbt_runner.lean import compile_jinja, make_dbt_lean


@pytest.fixture(autouse=True)
def lean() -> None:
    make_dbt_lean()


def test_a_debug_event_that_no_log_takes_is_not_made() -> None:
    """It is dropped before its message would be found to be impossible."""
    EventManager().fire_event(Note(no_such_field=1), level=EventLevel.DEBUG)
    with pytest.raises(Exception, match="no_such_field"):
        EventManager().fire_event(Note(no_such_field=1), level=EventLevel.INFO)


def test_an_event_that_is_read_has_its_fields_as_before() -> None:
    sent: list[Any] = []
    manager = EventManager()
    manager.add_callback(sent.append)
    event = Note(msg="first")
    assert event.msg == "first"
    event.msg = "second"
    manager.fire_event(event, level=EventLevel.WARN)
    manager.fire_event(Formatting("third"), level=EventLevel.ERROR)
    manager.fire_event(Note(msg="fourth"), level=EventLevel.DEBUG)
    assert [(one.info.level, one.data.msg) for one in sent] == [("warn", "second"), ("error", "third")]


def test_a_flag_does_not_search_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    def search() -> None:
        raise AssertionError("the stack was searched")

    monkeypatch.setattr(inspect, "stack", search)
    flag = BehaviorFlagRendered({"name": "one", "default": True, "description": "A flag."}, {})
    assert flag.setting
    assert flag._behavior_change_event.flag_source == "dbt"


def test_jinja_is_compiled_once() -> None:
    source = "{% set n = 1 %}{{ n + more }}"
    compile_jinja([source])
    assert get_environment().compile(source) is get_environment().compile(source)
    assert [get_template(source, {"more": more}).render({"more": more}) for more in (1, 2)] == ["2", "3"]
