"""Backfills for the command line and for Dagster: validates the request, runs it and describes its outcome."""

import asyncio
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest.backfill.backfill import backfill
from ingest.backfill.loads import Served
from ingest.backfill.progress import ALONE, BackfillState, minutes, sizes
from ingest.backfill.wanted import Wanted
from ingest.declaration.venue import Venue
from ingest.recorder.clock import now_ms
from ingest.recorder.state import RecorderBusy
from ingest.venues import VENUES
from orchestration.config.settings import Settings
from orchestration.publish.edition import read_current


class WrongRequest(ValueError):
    """A request that cannot be fetched: the message names the option, its value and what is allowed."""


def offered(venues: Sequence[Venue] = VENUES) -> dict[str, list[str]]:
    """The backfillable kinds of data per venue."""
    return {venue.name: [one.name for one in venue.past] for venue in venues if venue.past}


def wanted(
    venues: Sequence[str],
    kinds: Sequence[str],
    begin: str | None,
    end: str | None,
    *,
    symbols: str | None = None,
    folder: Path | None = None,
    **more: Any,
) -> Wanted:
    """The validated request of a command line."""
    known = offered()
    for venue in venues:
        if venue not in known:
            raise WrongRequest(f"--venue is {venue!r}, but it must be one of: {', '.join(known)}")
    chosen = list(venues) or list(known)
    histories = {venue.name: venue.past for venue in VENUES}
    of_venue = {venue: {name for one in histories[venue] for name in (one.name, one.endpoint)} for venue in chosen}
    for kind in kinds:
        if not any(kind in names for names in of_venue.values()):
            names = sorted(set().union(*of_venue.values()))
            of = f" of {', '.join(venues)}" if venues else ""
            raise WrongRequest(f"--kind is {kind!r}, but the history{of} has: {', '.join(names)}")
    begin_ms, end_ms = _time("--from", begin), _time("--to", end)
    if begin_ms is not None and begin_ms >= (end_ms if end_ms is not None else now_ms()):
        raise WrongRequest(f"--from is {begin!r}, but it must lie before {'--to' if end else 'now'}")
    if end_ms is not None and end_ms > now_ms():
        raise WrongRequest(f"--to is {end!r}, but it must lie in the past")
    if folder is not None:
        of_files = {name: [archive.name for archive in _venue(name).archives] for name in chosen}
        if len(venues) != 1 or not kinds or not set(kinds) <= set(of_files[venues[0]]):
            words = "; ".join(f"--venue {name} --kind {', '.join(found)}" for name, found in of_files.items() if found)
            raise WrongRequest(
                f"--folder is {str(folder)!r}, which goes with the files of one exchange: {words or 'none'}"
            )
        if not folder.is_dir():
            raise WrongRequest(f"--folder is {str(folder)!r}, but it must be a folder that exists")
    named, top = _symbols(symbols)
    return Wanted(
        list(venues) or None, list(kinds) or None, begin_ms, end_ms, symbols=named, top=top, folder=folder, **more
    )


def _venue(name: str) -> Venue:
    return next(venue for venue in VENUES if venue.name == name)


def _symbols(text: str | None) -> tuple[list[str] | None, int | None]:
    """The named symbols, or how many of the markets traded most."""
    if text is None:
        return None, None
    if found := re.fullmatch(r"top([1-9]\d{0,4})", text):
        return None, int(found[1])
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise WrongRequest(f"--symbols is {text!r}, but it must be as top50 or as BTCUSDT,ETHUSDT")
    return names, None


def _time(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise WrongRequest(f"{option} is {text!r}, but it must be a UTC day or time such as 2026-01-31") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def fetch(
    settings: Settings,
    request: Wanted,
    report: Callable[[str], None] | None = None,
    estimate: Callable[[str], None] | None = None,
    share: Callable[[float], None] | None = None,
) -> BackfillState:
    """Fetch and land what is missing; RecorderBusy while another fetch runs. Errors, estimates and the share that is
    there are passed on as they come."""
    work = backfill(
        settings.backfill,
        settings.landing,
        settings.venues_url,
        request,
        report_error=report,
        report_estimate=estimate,
        report_share=share,
        state_copy=settings.backfill_status,
        served=lambda: _served(settings),
    )
    return asyncio.run(work)


def _served(settings: Settings) -> Served | None:
    """The edition that this host has published, if it has."""
    current = read_current(settings.serving)
    if current is None:
        return None
    past = current.get("past_started_ms") or 0, current.get("past_took_ms") or 0
    return Served(*past, current["as_of_ms"], current["published_ms"])


def sentence(state: BackfillState) -> str:
    """The outcome of a backfill in one line."""
    total, summary = state.total, state.summary()
    words = f"{total.rows:,} rows in {total.requests:,} responses, {total.body_bytes / 1e6:,.1f} MB"
    if state.state == "done":
        return f"the history is complete: {words}"
    return f"the history is {summary['share']:.0%} there ({state.state}): {words}; {total.failed} spans failed"


def estimated(state: BackfillState) -> str:
    """What is missing in all, in one line. Venues and their rate limits work side by side."""
    seconds = defaultdict[tuple[str, str], float](float)
    for venue, parts in state.estimates.items():
        for part in parts:
            seconds[venue, part.pool] += part.seconds
    parts = [part for own in state.estimates.values() for part in own]
    unread = [name for name, venue in state.venues.items() if venue.last_error]
    if not parts and unread:
        return f"no estimate: the lists of {', '.join(unread)} cannot be read"
    if not parts:
        return "nothing is missing"
    files, size = sum(part.files for part in parts), sum(part.file_bytes or 0 for part in parts)
    unlisted = sum(part.files for part in parts if part.file_bytes is None)
    requests = sum(part.requests for part in parts)
    unknown, alone = (f" and {unlisted:,} of unknown size", ALONE) if unlisted else ("", "")
    there = f"{files - unlisted:,} files, {sizes(size)}{unknown}"
    return f"to fetch: {there}; {requests:,} requests, {minutes(max(seconds.values()))}{alone}"


def run_by_hand(settings: Settings, request: Wanted, report: Callable[[str], None], fail: Callable[[str], None]) -> int:
    """`tidemark backfill`: fetch, with a progress bar if there is a terminal, and return the exit code."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("history"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    silent = request.dry_run or not sys.stderr.isatty()
    try:
        with Progress(*columns, console=Console(stderr=True), disable=silent) as bar:
            task = bar.add_task("history", total=1.0)
            # The output of a fetch is its outcome alone.
            estimate = report if request.dry_run else fail
            state = fetch(settings, request, fail, estimate, lambda share: bar.update(task, completed=share))
    except RecorderBusy as busy:
        fail(f"{busy}; it goes on by itself, and `tidemark status` shows its progress")
        return 1
    for span in state.failed:
        fail(f"failed: {span}")
    if state.landing_error:
        fail(state.landing_error)
    if request.dry_run:
        report(estimated(state))
        return 1 if state.failed or any(part.last_error for part in state.venues.values()) else 0
    report(sentence(state))
    return 0 if state.state == "done" else 1
