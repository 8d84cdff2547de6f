"""A backfill by hand, in the status, and as a partition in Dagster, against the simulator in a process of its own."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from ingest.declaration.endpoint import DAY_MS
from ingest.landing.loads import committed_loads
from ingest.recorder.state import lock
from orchestration.code_location.history_asset import history_asset, history_sensor
from orchestration.config.settings import Settings
from orchestration.supervise.backfill import offered
from tests.support.command import environment, sentence, tidemark
from tests.support.servers.api_server import free_port, until
from tests.support.start import start_ms, to_text

# Two whole days, and the part of a third.
BEGIN, END = to_text((start_ms() // DAY_MS - 2) * DAY_MS), to_text(start_ms())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The simulators as a process."""
    port = free_port()
    env = environment(tmp_path_factory.mktemp("sandbox"), TIDEMARK_SANDBOX_PORT=str(port))
    command = [sys.executable, "-m", "orchestration.cli", "sandbox", "--simulate"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_sandbox/health", timeout=5):
                return True
        except OSError:
            return False

    try:
        until(answers, bool, 120)
        clock = json.dumps({"now_ms": start_ms()}).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/_sandbox/clock", clock, method="POST")
        asked.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(asked, timeout=5) as answer:
            assert answer.status == 200
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def rows(home: Path) -> list[tuple[str, str, str]]:
    files = [file for load in committed_loads(str(home / "landing")) for file in load.files]
    query = "select venue, endpoint, key from read_parquet($files) order by all"
    with duckdb.connect() as con:
        return con.execute(query, {"files": files}).fetchall() if files else []


def estimate_of(markets: int) -> str:
    return f"bybit perp_bars_1d: {markets} requests, {markets} markets, less than 2 min"


def test_by_hand_once_again_and_in_the_status(url: str, tmp_path: Path) -> None:
    env = environment(tmp_path, TIDEMARK_VENUES_URL=url)
    words = ["backfill", "--venue", "bybit", "--kind", "perp_bars_1d", "--from", BEGIN, "--to", END]
    estimate = tidemark(env, *words, "--symbols", "top3", "--dry-run")
    lines = [
        estimate_of(3),
        "to fetch: 0 files, 0.0 MB; 3 requests, less than 2 min",
    ]
    assert (estimate.returncode, estimate.stdout.splitlines()) == (0, lines)
    assert rows(tmp_path) == []
    done = tidemark(env, *words)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^the history is complete: [\d,]+ rows in [\d,]+ responses", done.stdout)
    fetched = rows(tmp_path)
    assert {(venue, endpoint) for venue, endpoint, _ in fetched} == {("bybit", "history_perp_bars")}
    assert len({key for *_, key in fetched}) == len(fetched) > 50
    text = tidemark(env, "status").stdout
    assert re.search(r"^  history +\[#{24}\] 100% done, [\d,]+ rows$", text, re.M)
    found = json.loads(tidemark(env, "status", "--json").stdout)["backfill"]
    assert (found["state"], found["share"], found["failed"]) == ("done", 1.0, 0)
    written = json.loads((tmp_path / "serving" / "backfill.json").read_bytes())
    assert {name: value for name, value in written.items() if name != "pid"} == found

    # An estimate changes nothing, and may be made beside a backfill.
    with lock(tmp_path / "backfill", "backfill"):
        again = tidemark(env, *words, "--again", "--dry-run")
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, estimate_of(len(fetched)))
    assert tidemark(env, *words).returncode == 0
    assert rows(tmp_path) == fetched, "what is there is not fetched twice"
    assert tidemark(env, *words, "--again").returncode == 0
    assert len(rows(tmp_path)) == 2 * len(fetched)


def test_a_day_and_an_hour_of_a_venue_are_fetched_again(url: str, tmp_path: Path) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path), "TIDEMARK_VENUES_URL": url})
    asset = history_asset(settings)
    assert asset.partitions_def is not None
    assert {key.partition("|")[2] for key in asset.partitions_def.get_partition_keys()} == set(offered())

    def fetched(**config: Any) -> dict[str, Any]:
        run_config = dg.RunConfig({"landing__history": {"config": config}})
        partition = dg.MultiPartitionKey({"venue": "bybit", "day": BEGIN[:10]})
        with dg.DagsterInstance.ephemeral() as instance:
            run = dg.materialize([asset], instance=instance, partition_key=partition, run_config=run_config)
            [made] = run.asset_materializations_for_node("landing__history")
        return {name: value.value for name, value in made.metadata.items()}

    day = fetched(kinds=["settlements"])
    assert (day["failed spans"], day["responses"]) == (0, len(rows(tmp_path)))
    assert day["rows"] > 50
    assert day["from"].startswith(BEGIN[:10])
    assert {(venue, endpoint) for venue, endpoint, _ in rows(tmp_path)} == {("bybit", "history_settlements")}

    # What is there is fetched again, unless only what is missing is asked for.
    assert fetched(kinds=["settlements"], again=False)["responses"] == 0
    assert fetched(kinds=["settlements"])["responses"] == day["responses"]
    hour = fetched(kinds=["perp_bars_1h"], hour=13)
    assert (hour["from"], hour["to"]) == (f"{BEGIN[:10]}T13:00:00", f"{BEGIN[:10]}T14:00:00")
    assert 0 < hour["rows"] <= hour["responses"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--venue", "nowhere"], "--venue is 'nowhere', but it must be one of: aster, binance,"),
        (["--kind", "prices"], "--kind is 'prices', but the history has: "),
        (
            ["--venue", "hyperliquid", "--kind", "taker_ratio"],
            "but the history of hyperliquid has: contexts_history, perp_bars",
        ),
        (["--from", "yesterday"], "must be a UTC day or time such as 2026-01-31"),
        (["--from", "2026-02-01", "--to", "2026-01-01"], "--from is '2026-02-01', but it must lie before --to"),
        (["--to", "2999-01-01"], "--to is '2999-01-01', but it must lie in the past"),
    ],
)
def test_a_request_that_cannot_be_fetched_is_one_sentence_and_exit_code_2(
    words: list[str], message: str, tmp_path: Path
) -> None:
    done = tidemark(environment(tmp_path), "backfill", *words)
    assert done.returncode == 2
    assert message in sentence(done)
    assert not (tmp_path / "backfill").exists()


def test_a_second_backfill_names_the_running_one(tmp_path: Path) -> None:
    with lock(tmp_path / "backfill", "backfill"):
        done = tidemark(environment(tmp_path), "backfill", "--venue", "bybit")
    assert done.returncode == 1
    assert "another backfill (process" in done.stderr
    assert "tidemark status" in done.stderr


def test_an_unreachable_exchange_is_reported(tmp_path: Path) -> None:
    env = environment(tmp_path, TIDEMARK_VENUES_URL=f"http://127.0.0.1:{free_port()}")
    words = ["backfill", "--venue", "bybit", "--kind", "settlements", "--within", "1"]
    done = tidemark(env, *words)
    assert done.returncode == 1
    assert "bybit: perp_tickers linear: ClientConnectorError" in done.stderr
    assert "(partly)" in done.stdout


def test_days_that_the_backfill_has_fetched_are_reported_as_partitions(url: str, tmp_path: Path) -> None:
    """Once each, the newest first; what is fetched of some kinds alone makes no day whole."""
    env = environment(tmp_path, TIDEMARK_VENUES_URL=url)
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path), "TIDEMARK_VENUES_URL": url})
    sensor = history_sensor(settings)
    words = ["backfill", "--venue", "fx", "--from", BEGIN, "--to", END]
    with dg.DagsterInstance.ephemeral() as instance:

        def evaluated(cursor: str | None) -> dg.SensorResult | dg.SkipReason:
            found = sensor(dg.build_sensor_context(instance=instance, cursor=cursor))
            assert isinstance(found, dg.SensorResult | dg.SkipReason)
            return found

        assert isinstance(evaluated(None), dg.SkipReason)
        assert tidemark(env, *words, "--kind", "fx_daily_1d").returncode == 0
        assert isinstance(evaluated(None), dg.SkipReason)
        assert tidemark(env, *words).returncode == 0
        reported = evaluated(None)
        assert isinstance(reported, dg.SensorResult)
        days = [to_text(start_ms() - back * DAY_MS)[:10] for back in (1, 2)]
        assert [event.partition for event in reported.asset_events] == [f"{day}|fx" for day in days]
        asset = history_asset(settings)
        assert asset.partitions_def is not None
        keys = {key for key in asset.partitions_def.get_partition_keys() if key in {f"{day}|fx" for day in days}}
        assert len(keys) == 2
        assert isinstance(evaluated(reported.cursor), dg.SkipReason)
