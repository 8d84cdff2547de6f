"""Restatement: builds minutes that are already built again from the landing, with the models that the caller runs.

A restatement does not move the watermark: built loads stay built, and waiting loads wait. It is recorded as a build, so
that the next publish copies the rows that it touched.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.backfill_state import is_fetching
from orchestration.warehouse.watermark import close_window, open_window, prepare
from orchestration.warehouse.windows import (
    AFTER_HISTORY,
    EVERY,
    RECORDED,
    Window,
    built_minutes,
    newest_built_minute,
    window_again,
)
from orchestration.warehouse.writer import Report

# Minutes of one window. The writer lock is free between two windows: the minute's build waits for at most one, which
# takes 40 s on the full universe.
WINDOW_MINUTES = 15


def minutes_to_restate(settings: Settings, span: tuple[int, int] | None, report: Report = print) -> list[list[int]]:
    """The built minutes of a span [begin, end) in ms, or the newest one without a span, cut into windows."""
    with (
        warehouse_lock(settings, "restatement", report=report),
        open_warehouse(settings, checkpoint=False) as con,
    ):
        prepare(con)
        if span is None:
            newest = newest_built_minute(con)
            return [] if newest is None else [[newest]]
        minutes = built_minutes(con, settings.landing, *span)
        return [minutes[at : at + WINDOW_MINUTES] for at in range(0, len(minutes), WINDOW_MINUTES)]


@contextmanager
def restated_window(settings: Settings, minutes: list[int]) -> Iterator[Window]:
    """Open a window of built minutes; the block runs dbt. The caller holds the writer lock.

    All clock triggers fire: a model that is selected by hand is always run.
    """
    with open_warehouse(settings, checkpoint=False) as con:
        window = window_again(con, settings.landing, minutes)
        open_window(con, window, {RECORDED, *EVERY, AFTER_HISTORY}, fetching=is_fetching(settings))
    yield window
    with open_warehouse(settings, checkpoint=False) as con:
        close_window(con, window)
