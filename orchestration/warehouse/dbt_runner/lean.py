"""dbt's runs in one process (or in forks of one) without work that is done again in each, or that nobody reads.

Three parts, each of which dbt offers no setting for. Twelve windows of 48 marts took 25 and 27 s of CPU with them, 37
and 44 s with dbt as it is (which opened the database for each run then).
"""

from functools import cache
from types import CodeType
from typing import Any


@cache
def make_dbt_lean() -> None:
    """Change dbt in this process, once.

    - Debug events that no log takes: each is made a protobuf message, then formatted with its time and thread.
    - The name of the module that made an adapter's flags, to be named in an event: a search of the stack for each flag.
    - Jinja that was compiled before: each run compiles the SQL of each model that it selects.
    """
    _leave_out_events()
    _leave_out_callers()
    _keep_compiled_jinja()


def _leave_out_events() -> None:
    from dbt_common.events.base_types import BaseEvent, EventLevel
    from dbt_common.events.event_manager import EventManager

    event: Any = BaseEvent
    manager: Any = EventManager
    make_message, read_field, set_field = event.__init__, event.__getattr__, event.__setattr__
    send = manager.fire_event

    def keep_fields(self: Any, *values: Any, **named: Any) -> None:
        vars(self)["given"] = values, named

    def made(self: Any) -> None:
        if given := vars(self).pop("given", None):
            make_message(self, *given[0], **given[1])

    def make_message_and_read(self: Any, name: str) -> Any:
        made(self)
        return vars(self)["pb_msg"] if name == "pb_msg" else read_field(self, name)

    def make_message_and_set(self: Any, name: str, value: Any) -> None:
        made(self)
        set_field(self, name, value)

    def send_if_read(self: Any, e: Any, level: Any = None, *other: Any, **named: Any) -> None:
        if self.loggers or (level or e.level_tag()) is not EventLevel.DEBUG:
            send(self, e, level, *other, **named)

    event.__init__, event.__getattr__, event.__setattr__ = keep_fields, make_message_and_read, make_message_and_set
    manager.fire_event = send_if_read


def _leave_out_callers() -> None:
    from dbt_common.behavior_flags import BehaviorFlagRendered

    flag: Any = BehaviorFlagRendered
    flag._default_source = staticmethod(lambda: "dbt")


def _keep_compiled_jinja() -> None:
    from dbt_common.clients.jinja import MacroFuzzEnvironment

    environment: Any = MacroFuzzEnvironment
    compile_source = environment.compile
    compiled: dict[tuple[type, str], CodeType] = {}

    def compile_once(self: Any, source: Any, *how: Any, **named: Any) -> Any:
        if how or named or not isinstance(source, str):
            return compile_source(self, source, *how, **named)
        if (key := (type(self), source)) not in compiled:
            compiled[key] = compile_source(self, source)
        return compiled[key]

    environment.compile = compile_once


def compile_jinja(sources: Any) -> None:
    """Compile the SQL of these models, for the runs of forks of this process."""
    from dbt_common.clients.jinja import get_environment

    for source in sources:
        get_environment().compile(source)
