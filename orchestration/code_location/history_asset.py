"""The venues' history as a Dagster asset: a partition is one day of one venue, which can be fetched again. A sensor
reports the partitions that the product's own backfill has fetched."""

import json
import time
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from ingest.backfill.days import as_ranges, in_ranges
from ingest.recorder.state import RecorderBusy
from orchestration.code_location.lineage import HISTORY, venue_key
from orchestration.code_location.upkeep import mark_alive
from orchestration.config.settings import Settings
from orchestration.supervise.backfill import WrongRequest, fetch, offered, sentence, wanted

# A backfill takes hours: its pool has a single slot of its own.
FETCHING = "history"
BUSY_S, PATIENCE_S = 5.0, 6 * 3600.0
"""Another fetch keeps the venues' limits to itself: this one waits for its end."""
FIRST_DAY = date(2020, 1, 1)
DAYS = dg.DailyPartitionsDefinition(start_date=FIRST_DAY.isoformat())
REPORTED = 200
"""Partitions in one evaluation of the sensor: each is an event in Dagster's database."""


class Fetch(dg.Config):
    """Run config: what to fetch of a partition. By default all kinds of the whole day, including data that is already
    there."""

    kinds: list[str] = Field(default=[], description="Kinds such as `perp_bars_1h`; none means all of the venue.")
    hour: int | None = Field(default=None, description="Only this UTC hour of the day, 0 to 23.", ge=0, le=23)
    again: bool = Field(default=True, description="Fetch also what is there already; else only what is missing.")


def history_asset(settings: Settings) -> dg.AssetsDefinition:
    """Make the asset of the venues' history."""

    @dg.asset(
        key=HISTORY,
        deps=[venue_key(venue) for venue in offered()],
        partitions_def=dg.MultiPartitionsDefinition(
            {"venue": dg.StaticPartitionsDefinition(list(offered())), "day": DAYS}
        ),
        group_name="landing",
        pool=FETCHING,
        kinds={"parquet", "dlt"},
        description="Bars, settlements, open interest and ratios of the past, as the venues' history endpoints have "
        "them: raw responses like the recorder's, under `history_<kind>`. The product fetches them at its first start, "
        "without Dagster, and a sensor reports the days that are whole as materialized; a run here fetches a day of a "
        "venue again, or an hour of it.",
    )
    def history(context: dg.AssetExecutionContext, config: Fetch) -> dg.MaterializeResult[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        venue, day = (context.partition_key.keys_by_dimension[name] for name in ("venue", "day"))
        begin, end = span_of(day, config.hour)
        try:
            request = wanted([venue], config.kinds, begin, end, again=config.again)
        except WrongRequest as error:
            raise dg.Failure(str(error), allow_retries=False) from None
        deadline, waiting = time.monotonic() + PATIENCE_S, False
        while True:
            try:
                state = fetch(settings, request, context.log.warning)
                break
            except RecorderBusy as busy:
                if time.monotonic() > deadline:
                    raise dg.Failure(str(busy)) from None
                if not waiting:
                    context.log.info(f"{busy}: waiting for its end")
                    waiting = True
                time.sleep(BUSY_S)
        total = state.total
        metadata: dict[str, Any] = {
            "rows": total.rows,
            "responses": total.requests,
            "bodies (MB)": round(total.body_bytes / 1e6, 1),
            "failed spans": total.failed,
            "from": begin,
            "to": end,
        }
        if state.failed:
            metadata["failures"] = dg.MetadataValue.md("\n".join(f"- {span}" for span in state.failed))
        if state.state != "done":
            raise dg.Failure(f"{sentence(state)}. {_reason(state.landing_error, state.venues)}", metadata=metadata)
        return dg.MaterializeResult(metadata=metadata)

    return history


def history_sensor(settings: Settings) -> dg.SensorDefinition:
    """The sensor that reports what the product's own backfill has fetched."""

    @dg.sensor(
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports each day of a venue as a materialized partition once the product's own backfill has "
        "fetched all that it wants of it, the newest days first.",
    )
    def history_progress(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        known = {venue: in_ranges(days) for venue, days in json.loads(context.cursor or "{}").items()}
        fetched = {venue: in_ranges(days) for venue, days in _fetched_days(settings.backfill_status).items()}
        new = sorted(
            ((day, venue) for venue, days in fetched.items() for day in days - known.get(venue, set())), reverse=True
        )
        new = [(day, venue) for day, venue in new if day >= FIRST_DAY][:REPORTED]
        if not new:
            return dg.SkipReason("no day has become whole")
        for day, venue in new:
            known.setdefault(venue, set()).add(day)
        return dg.SensorResult(
            asset_events=[
                dg.AssetMaterialization(
                    HISTORY, partition=dg.MultiPartitionKey({"venue": venue, "day": day.isoformat()})
                )
                for day, venue in new
            ],
            cursor=json.dumps({venue: as_ranges(days) for venue, days in known.items()}),
        )

    return history_progress


def _fetched_days(path: Path) -> dict[str, Any]:
    """The venues' fetched days in the state of the newest backfill; none without one."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes()).get("fetched_days", {})
        return found
    except (OSError, ValueError):
        return {}


def span_of(day: str, hour: int | None) -> tuple[str, str]:
    """Start and end of a partition's day, or of one hour of it."""
    begin = datetime.fromisoformat(day) + timedelta(hours=hour or 0)
    return begin.isoformat(), (begin + timedelta(days=1 if hour is None else 0, hours=hour is not None)).isoformat()


def _reason(landing_error: str | None, venues: dict[str, Any]) -> str:
    errors = [part.last_error for part in venues.values() if part.last_error]
    return landing_error or (f"The last error: {errors[-1]}" if errors else "")
