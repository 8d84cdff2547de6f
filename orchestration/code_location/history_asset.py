"""The venues' past as a Dagster asset: a partition per venue and kind, which an analyst may fetch again."""

import time
from typing import Any

import dagster as dg

from ingest.backfill.covered import Covered
from ingest.recorder.clock import as_text
from ingest.recorder.state import RecorderBusy
from orchestration.code_location.assets import FETCHING, HISTORY
from orchestration.code_location.history import WrongRequest, fetch, offered, sentence, wanted
from orchestration.config.settings import Settings

BUSY_S, PATIENCE_S = 5.0, 6 * 3600.0
"""Another fetch keeps the venues' limits to itself: this one waits for its end."""


class Fetch(dg.Config):
    """What of a partition is fetched; without anything what is missing, as far back as is declared."""

    begin: str | None = None
    end: str | None = None
    again: bool = False


def history_asset(settings: Settings) -> dg.AssetsDefinition:
    """What the venues have of the past, fetched once at the first start and again by hand."""
    parts = [f"{venue}:{kind}" for venue, kinds in offered().items() for kind in kinds]

    @dg.asset(
        key=HISTORY,
        deps=[dg.AssetKey(["venue", venue]) for venue in offered()],
        partitions_def=dg.StaticPartitionsDefinition(parts),
        group_name="landing",
        pool=FETCHING,
        kinds={"parquet", "dlt"},
        description="Bars, settlements, open interest and ratios of the past, as the venues' history endpoints have "
        "them: raw responses like the recorder's, under `history_<kind>`. The product fetches them at its first start; "
        "a run fetches what is missing of one venue and kind, or with `again` all of it.",
    )
    def history(context: dg.AssetExecutionContext, config: Fetch) -> dg.MaterializeResult[Any]:
        venue, _, kind = context.partition_key.partition(":")
        try:
            request = wanted([venue], [kind], config.begin, config.end, again=config.again)
        except WrongRequest as error:
            raise dg.Failure(str(error), allow_retries=False) from None
        deadline, told = time.monotonic() + PATIENCE_S, False
        while True:
            try:
                state = fetch(settings, request, context.log.warning)
                break
            except RecorderBusy as busy:
                if time.monotonic() > deadline:
                    raise dg.Failure(str(busy)) from None
                if not told:
                    context.log.info(f"{busy}: waiting for its end")
                    told = True
                time.sleep(BUSY_S)
        total = state.total
        metadata = {
            "rows": total.rows,
            "answers": total.requests,
            "bodies (MB)": round(total.body_bytes / 1e6, 1),
            "failed spans": total.failed,
            **_spans(settings, venue, kind),
        }
        if state.failed:
            metadata["failures"] = dg.MetadataValue.md("\n".join(f"- {span}" for span in state.failed))
        if state.state != "done":
            raise dg.Failure(f"{sentence(state)}. {_reason(state.landing_error, state.venues)}", metadata=metadata)
        return dg.MaterializeResult(metadata=metadata)

    return history


def _spans(settings: Settings, venue: str, kind: str) -> dict[str, Any]:
    covered = Covered(settings.backfill / "covered.sqlite")
    try:
        markets, first_ms, last_ms = covered.summary(venue, kind)
    finally:
        covered.close()
    found: dict[str, Any] = {"markets": markets}
    if first_ms is not None and last_ms is not None:
        found |= {"from": as_text(first_ms), "to": as_text(last_ms)}
    return found


def _reason(landing_error: str | None, venues: dict[str, Any]) -> str:
    errors = [part.last_error for part in venues.values() if part.last_error]
    return landing_error or (f"The last error: {errors[-1]}" if errors else "")
