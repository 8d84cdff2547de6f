"""The job `minute` and its sensor, and the hourly and daily jobs behind it, on a real landing."""

import time
from datetime import UTC, datetime
from types import ModuleType

import dagster as dg
import duckdb
import pytest

from orchestration.cli.status import as_text, read_status
from orchestration.code_location import minute
from orchestration.config.settings import Settings
from orchestration.publish.edition import REPLICAS, read_current
from orchestration.publish.publish import publish
from orchestration.quality.suites import checks_of
from orchestration.warehouse import quarantine
from tests.support.pipeline.odd_bodies import guard, odd_rows
from tests.support.pipeline.pipeline_home import MINUTE, land_minutes, land_rows, past_rows, tables


def test_a_run_is_begun_shortly_before_its_minute_and_one_at_a_time(
    definitions: ModuleType, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor: str | None = None

    def evaluated(second: int) -> bool:
        """Whether a run is requested so many seconds after a minute began."""
        nonlocal cursor
        monkeypatch.setattr(minute, "now_ms", lambda: at + 1000 * second)
        with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
            requested = isinstance(definitions.every_minute(context), dg.RunRequest)
            cursor = context.cursor
        return requested

    at = 1_800_000_000_000
    assert [minute.is_ahead(at + 1000 * second) for second in (0, 34, 35, 59)] == [False, False, True, True]
    # The past has the time that is left of the run's minute, also if the run began before it or takes longer than it.
    seconds = [(-20, 12), (-20, 21), (2, 19), (2, 45), (2, 61)]
    since = [minute.since_minute_s(at + 1000 * run, at + 1000 * now) for run, now in seconds]
    assert since == [12.0, 21.0, 19.0, 45.0, 61.0]
    assert evaluated(5), "of a minute that has begun, when the product starts"
    assert [evaluated(second) for second in (15, 25, 34)] == [False] * 3
    assert evaluated(36), "of the next minute"
    run = instance.create_run_for_job(definitions.defs.resolve_job_def("minute"), status=dg.DagsterRunStatus.STARTED)
    assert [evaluated(second) for second in (46, 66, 94)] == [False] * 3, "a run is in progress"
    assert evaluated(96), "the next one waits in the queue while the minute before is at work"
    queued = instance.create_run_for_job(
        definitions.defs.resolve_job_def("minute"), status=dg.DagsterRunStatus.NOT_STARTED
    )
    assert [evaluated(second) for second in (106, 126, 156)] == [False] * 3, "one waits already"
    instance.report_run_failed(run)
    assert [evaluated(second) for second in (176, 180)] == [True, False]
    instance.report_run_failed(queued)
    assert evaluated(245), "runs that ended after their minute leave the next one to be started at once"
    assert not evaluated(255)
    assert evaluated(276)


def test_minute_hour_and_day(
    definitions: ModuleType, settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The three jobs on a real landing: build and publish, then every dbt test and the docs, then the upkeep."""
    now = time.time_ns() // 1_000_000
    started = now - now % MINUTE
    # Ahead of the clock, by less than an exchange's may be: else a slow machine's recorder would count as dead.
    newest = started + 2 * MINUTE
    # A run waits for the load of the minute in which it starts: here that of this minute has landed for all of them.
    monkeypatch.setattr(minute, "now_ms", lambda: started + 5_000)
    land_minutes(settings, [newest - MINUTE, newest])

    built = execute(definitions, instance, "minute")
    observed = instance.fetch_observations(dg.AssetKey(["landing", "responses"]), limit=1).records
    metadata = observed[0].asset_observation.metadata if observed and observed[0].asset_observation else {}
    assert (metadata["minutes built"].value, metadata["loads built"].value, metadata["rows of binance"].value) == (
        2,
        2,
        16,
    )
    assert {key.to_user_string() for key in materialized(built)} >= {"raw_window", "series_base_1d", "serving/edition"}
    [edition_event] = instance.fetch_materializations(dg.AssetKey(["serving", "edition"]), limit=1).records
    assert edition_event.asset_materialization is not None
    way = edition_event.asset_materialization.metadata
    steps = [
        float(str(way[f"{step} (s after the minute)"].value))
        for step in ("build_started", "built", "published", "pointed")
    ]
    assert steps == sorted(steps)
    listed = str(way["timeline"].value).partition("| model | s |")[2].split("\n")[2:]
    seconds = [float(line.split("|")[2]) for line in listed]
    assert (len(seconds), seconds) == (minute.SLOWEST, sorted(seconds, reverse=True))
    hour = {f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d-%H:00}" for at_ms in (newest - MINUTE, newest)}
    assert instance.get_materialized_partitions(dg.AssetKey("series_base_1d")) == hour
    replica = settings.serving / "replica_a.duckdb"
    served = ("series_market_1m", "series_base_1h", "markets", "gaps")
    assert tables(str(replica), served) == tables(settings.warehouse, served)
    assert len(tables(str(replica), served)["markets"]) == 3

    hourly = execute(definitions, instance, "hourly")
    checks = hourly.get_asset_check_evaluations()
    assert len(checks) > 20
    assert [check.check_name for check in checks if not check.passed] == []
    # A test over several tables names the one it is a check of; without a name it would be no check.
    assert {"recorder_is_alive", "mart_tiers_agree", "mart_markets_match_series"} <= {c.check_name for c in checks}
    assert (settings.docs / "index.html").exists()

    # The hourly quality checks, on a served table with a fault in it.
    with duckdb.connect(str(replica)) as con:
        con.execute("update series_market_1m set price = -1 where market_id = 'binance:perp:ETHUSDT'")
    evaluated = execute(definitions, instance, "quality_hourly").get_asset_check_evaluations()
    quality = {check.check_name: check for check in evaluated}
    assert set(quality) == {check.name for check in checks_of("hourly")}
    wrong = quality["minutes_in_range"]
    assert not wrong.passed
    assert wrong.description
    assert wrong.description.startswith("binance:perp:ETHUSDT: price -1.0 (expected: > 0)")
    assert wrong.metadata["venues"].value == "binance"
    page = str(wrong.metadata["report"].value).partition("/quality/")[2]
    assert "binance:perp:ETHUSDT" in (settings.quality_docs / page).read_text()
    publish(settings, force=True, report=lambda _: None)
    marked = read_status(settings)["suspects"]
    assert [(row["venue"], row["rows"]) for row in marked if row["check"] == "minutes_in_range"] == [("binance", 1)]

    assert execute(definitions, instance, "daily").success
    with duckdb.connect(settings.warehouse, read_only=True) as con:
        assert con.execute("select count(*) from pipeline.builds").fetchone() == (1,)

    # What a backfill has landed is built and served after the minute's edition, from its own window.
    newest += MINUTE
    until = newest - 60 * MINUTE
    land_rows(settings, past_rows(newest, until_ms=until))
    land_minutes(settings, [newest])
    before = read_status(settings)["edition"]
    both = execute(definitions, instance, "minute")
    assert {"series_base_1m", "serving/edition"} <= {key.to_user_string() for key in materialized(both)}
    # What was recorded is published when its window is closed, the past after it.
    editions = [event.step_key for event in both.all_events if _is_edition(event)]
    assert editions == ["build_windows", "build_past"]
    with duckdb.connect(settings.warehouse, read_only=True) as con:
        windows = con.execute("select built_minutes from pipeline.builds order by build_id desc limit 2").fetchall()
    assert windows == [([],), ([newest],)], "what was recorded in its minute is not built again"
    current = read_current(settings.serving)
    assert current is not None
    assert current["edition_id"] == before + 2
    # Both replicas have it, so that the next minute's publish need not copy it.
    for name in REPLICAS:
        with duckdb.connect(str(settings.serving / name), read_only=True) as con:
            assert con.execute(f"select count(*) from series_market_1m where t < {until}").fetchone() == (3 * 180,)

    # A minute that holds nothing for some of the published tables is an edition all the same, also if a model fails
    # with one of its bodies.
    guard(settings)
    monkeypatch.setattr(quarantine, "SEARCH_S", 3600.0)
    land_rows(settings, odd_rows(newest + MINUTE, "ETHUSDT"))
    edition = read_status(settings)["edition"]
    later = execute(definitions, instance, "minute")
    assert {"market_movers", "serving/edition"} <= {key.to_user_string() for key in materialized(later)}
    found = read_status(settings)
    assert found["edition"] > edition
    assert [(held["venue"], held["bodies"], held["endpoint"]) for held in found["quarantine"]] == [
        ("binance", 1, "perp_bars")
    ]
    assert "binance      1 responses in quarantine" in as_text(found)


def execute(definitions: ModuleType, instance: dg.DagsterInstance, job: str) -> dg.ExecuteInProcessResult:
    result = definitions.defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=True)
    assert result.success
    return result  # type: ignore[no-any-return]


def _is_edition(event: dg.DagsterEvent) -> bool:
    return event.event_type_value == "ASSET_MATERIALIZATION" and event.asset_key == dg.AssetKey(["serving", "edition"])


def materialized(result: dg.ExecuteInProcessResult) -> set[dg.AssetKey]:
    return {
        event.asset_key
        for event in result.all_events
        if event.event_type_value == "ASSET_MATERIALIZATION" and event.asset_key
    }
