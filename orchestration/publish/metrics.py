"""What a publish writes for Prometheus: the way of the newest minute to its edition, what its build took and refused,
and the disk. Files in the text format, which /metrics of the API shows."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from orchestration.config.clock import HOUR_MS, now_ms
from orchestration.config.places import is_file
from orchestration.config.settings import Settings
from orchestration.publish.edition import Edition
from orchestration.publish.timeline import Timeline, read_timeline
from orchestration.warehouse.access import open_warehouse
from orchestration.warehouse.writer import PipelineError

REJECTED = """
select venue, sum(broken_bodies), sum(dropped_rows), sum(outside_values) from main.int_rejected
where tick_ms > {after_ms} group by venue
"""
KINDS = ("broken_bodies", "dropped_rows", "outside_values")
QUARANTINED = "select venue, count(*) from pipeline.quarantine where state <> 'dropped' group by venue"
UPGRADE = """
select count(*) filter (finished_ms is null and error is null), count(*) filter (finished_ms is null and error > '')
from pipeline.upgrade_days
"""
# The disk is measured so often, and its growth over so long at most and at least.
DISK_EVERY_S, GROWTH_S, LEAST_GROWTH_S = 600.0, 86_400.0, 3600.0
DAY_S = 86_400.0


def write_metrics(
    settings: Settings, edition: Edition, seconds: float, cpu_seconds: float, run_started_ms: float | None = None
) -> Timeline:
    """Replace the files after a publish of so many seconds, and return the edition's timeline. What cannot be read or
    written now is left as it was: its age says so."""
    pointed_ms = now_ms()
    timeline = Timeline(published=edition.published_ms, pointed=pointed_ms)
    with suppress(OSError, duckdb.Error, PipelineError):
        settings.metrics.mkdir(parents=True, exist_ok=True)
        with open_warehouse(settings, read_only=True, checkpoint=False) as con:
            timeline = read_timeline(
                con, published_ms=edition.published_ms, pointed_ms=pointed_ms, run_started_ms=run_started_ms
            )
            registry = _pipeline(con, edition, timeline, seconds, cpu_seconds)
        write_to_textfile(str(settings.metrics / "pipeline.prom"), registry)
    with suppress(OSError):
        file = settings.metrics / "disk.prom"
        if not file.exists() or time.time() - file.stat().st_mtime > DISK_EVERY_S:
            write_to_textfile(str(file), disk(settings, time.time()))
    return timeline


def _pipeline(
    con: duckdb.DuckDBPyConnection, edition: Edition, timeline: Timeline, seconds: float, cpu_seconds: float
) -> CollectorRegistry:
    registry = CollectorRegistry()

    def gauge(name: str, about: str, value: float | None) -> None:
        if value is not None:
            Gauge(f"tidemark_{name}", about, registry=registry).set(value)

    rejected = con.execute(REJECTED.format(after_ms=edition.as_of_ms - HOUR_MS)).fetchall()
    quarantined = con.execute(QUARANTINED).fetchall()
    [days] = con.execute(UPGRADE).fetchall()
    gauge("published_edition", "The newest edition.", edition.edition_id)
    if timeline.built is not None and timeline.build_started is not None:
        took_s = (timeline.built - timeline.build_started) / 1000
        gauge("build_seconds", "Seconds from opening the newest build's window to closing it.", took_s)
    gauge("build_rows", "Landed rows that the newest build read.", timeline.rows)
    gauge("publish_seconds", "Seconds of the newest publish.", seconds)
    gauge("publish_cpu_seconds", "CPU seconds of the newest publish.", cpu_seconds)
    stage = Gauge(
        "tidemark_stage_timestamp_seconds",
        "When the newest edition's minute began, its last response came, its last load was written, the run and the "
        "build started, it was built, its publish began, and readers were pointed to it.",
        ("stage",),
        registry=registry,
    )
    for name, at_s in timeline.stages():
        stage.labels(name).set(at_s)
    took = Gauge("tidemark_model_seconds", "Seconds of each model in the newest build.", ("model",), registry=registry)
    for model, model_s in timeline.models:
        took.labels(model).set(model_s)
    refused = Gauge("tidemark_rejected", "What models refused in the last hour.", ("venue", "kind"), registry=registry)
    for venue, *counts in rejected:
        for kind, count in zip(KINDS, counts, strict=True):
            refused.labels(venue, kind).set(count)
    waiting = Gauge(
        "tidemark_quarantined_responses",
        "Responses that are set aside because a model failed with them.",
        ("venue",),
        registry=registry,
    )
    for venue, count in quarantined:
        waiting.labels(venue).set(count)
    left = Gauge(
        "tidemark_upgrade_days",
        "Days that the models of an earlier version built and that wait for being built again, or could not be.",
        ("state",),
        registry=registry,
    )
    for state, count in zip(("waiting", "failed"), days, strict=True):
        left.labels(state).set(count)
    return registry


def disk(settings: Settings, now_s: float) -> CollectorRegistry:
    """The disk of the home: bytes by part, bytes that are free, and at the growth of the last day the days that are
    left. The growth is not known in the first hour, nor while less is used than before."""
    registry = CollectorRegistry()
    used = Gauge("tidemark_disk_used_bytes", "Bytes of a part of the home.", ("part",), registry=registry)
    total = 0
    for part, size in parts_of(settings):
        used.labels(part).set(size)
        total += size
    free = shutil.disk_usage(settings.home).free
    Gauge("tidemark_disk_free_bytes", "Bytes that are free on the home's disk.", registry=registry).set(free)
    growth = _growth(settings.metrics / "disk.json", now_s, total)
    if growth is not None and growth > 0:
        left = Gauge("tidemark_disk_days_left", "Days until the disk is full at today's growth.", registry=registry)
        left.set(free / growth)
    return registry


def parts_of(settings: Settings) -> Iterator[tuple[str, int]]:
    """Name and bytes of each part: the warehouse if it is a file, and each folder of the home."""
    if is_file(settings.warehouse):
        warehouse = Path(settings.warehouse)
        yield "warehouse", sum(_size(file) for file in (warehouse, warehouse.with_name(f"{warehouse.name}.wal")))
    folders = {folder.name: folder for folder in settings.home.iterdir() if folder.is_dir()}
    if "://" not in settings.landing:
        folders["landing"] = Path(settings.landing)
    for name, folder in folders.items():
        yield name, _under(folder, set())


def _under(folder: Path, linked: set[int]) -> int:
    """Bytes of the files of a folder; of those with several names once, whose numbers are in `linked`."""
    # os.scandir gives type and name without a further call each: there may be a file for each load.
    total = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                total += _under(Path(entry.path), linked)
            elif entry.is_file(follow_symlinks=False):
                total += _size(entry, linked)
    return total


def _size(file: "Path | os.DirEntry[str]", linked: set[int] | None = None) -> int:
    try:
        found = file.stat()
    except OSError:  # deleted meanwhile
        return 0
    if linked is not None and found.st_nlink > 1:
        if found.st_ino in linked:
            return 0
        linked.add(found.st_ino)
    return found.st_size


def _growth(file: Path, now_s: float, total: int) -> float | None:
    """Bytes a day since the oldest of the last day's measurements, which the file keeps; None before an hour."""
    try:
        measured: list[tuple[float, int]] = json.loads(file.read_text())
        known = [(at, size) for at, size in measured if now_s - GROWTH_S <= at < now_s]
    except (OSError, ValueError, TypeError):
        known = []
    written = file.with_name(f"{file.name}.new")
    written.write_text(json.dumps([*known, (now_s, total)]))
    written.replace(file)
    if not known or now_s - known[0][0] < LEAST_GROWTH_S:
        return None
    since_s, before = known[0]
    return (total - before) / (now_s - since_s) * DAY_S
