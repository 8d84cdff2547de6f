"""The `tidemark` command. Each command imports what it needs when it runs, so that `tidemark --help` starts quickly.

Exit codes: 0 done, 1 failed or unhealthy, 2 wrong usage or a wrong setting.
"""

import json
import logging
import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestration.cli.console import fail, in_a_sentence, one_sentence, settings
from orchestration.cli.keys import keys_app
from orchestration.cli.quarantine import quarantine_app
from orchestration.config.logs import log_to, reporter
from orchestration.config.settings import SETTINGS, UNIVERSES, Settings

HELP = "Open, self-hosted market data for crypto derivatives: recorded every minute, modelled with dbt, served as JSON."
EPILOG = "\n\n".join(
    ["Settings come from the environment:"]
    + [f"{setting.name} (default: {setting.default}): {setting.meaning}" for setting in SETTINGS]
)

app = typer.Typer(
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run a command. What it writes is its user's alone: raw responses, hashes of API keys, connection strings."""
    os.umask(0o077)
    app(prog_name="tidemark")


@app.command(short_help="Run everything against simulated exchanges on this machine.")
def demo() -> None:
    """Run the whole product against simulated exchanges on this machine, until Ctrl-C. Needs no network."""
    _run_product(demo=True)


@app.command(short_help="Run everything against the real exchanges.")
def up(
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Ask the exchanges, or build what other hosts land.")
    ] = True,
) -> None:
    """Run the whole product against the real exchanges, until Ctrl-C. With --no-record no exchange is asked: what other
    hosts record into the same landing is built and served."""
    _run_product(demo=False, record=record)


def _run_product(*, demo: bool, record: bool = True) -> None:
    chosen = settings()
    from orchestration.supervise import preflight, product

    with in_a_sentence(preflight.PreflightError):
        product.run(chosen, demo=demo, record=record)


def _check_origin(chosen: Settings) -> None:
    """Refuse to mix simulated and real recordings in one home."""
    from orchestration.supervise import preflight

    with in_a_sentence(preflight.PreflightError):
        preflight.check_origin(chosen)


@app.command(short_help="Request the exchanges every minute and land their responses.")
def record(
    once: Annotated[bool, typer.Option("--once", help="Record one minute, land it and stop.")] = False,
) -> None:
    """Request every exchange every minute and land the raw responses, until Ctrl-C."""
    chosen = settings()
    from ingest.recorder.recorder import run_recorder

    _check_origin(chosen)
    log_to(sys.stderr, chosen.log_format)
    raise typer.Exit(run_recorder(chosen.recorder, chosen.landing, chosen.venues_url, once, chosen.metrics))


@app.command(short_help="Fetch what the exchanges have of the past.")
def backfill(
    kind: Annotated[
        list[str] | None, typer.Option(help="Only this kind, as perp_bars or perp_bars_1d; may be repeated.")
    ] = None,
    venue: Annotated[list[str] | None, typer.Option(help="Only this exchange; may be repeated.")] = None,
    symbols: Annotated[
        str | None, typer.Option(help="Only these markets, as BTCUSDT,ETHUSDT, or so many by volume, as top50.")
    ] = None,
    begin: Annotated[str | None, typer.Option("--from", help="From this UTC day or time on, as 2026-01-31.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to this UTC day or time; else up to now.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch also what is there already.")] = False,
    sample: Annotated[bool, typer.Option("--sample", help="The small fetch that the demo makes.")] = False,
    within: Annotated[float | None, typer.Option(help="Begin nothing new after so many seconds.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Fetch only the lists of markets and files, and estimate the rest.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(help="Take the files of this --venue and --kind from a folder, not from the exchange."),
    ] = None,
) -> None:
    """Fetch the parts of the exchanges' history that are missing and land them, within a separate share of the rate
    limits.

    Without options: bars, settlements, open interest and ratios as far back as the indices need them. It can be stopped
    at any time; the next run continues. What is missing is estimated first: files, bytes, requests, and the minutes
    that the rate limits take.
    """
    chosen = settings()
    from ingest.landing.memory import stay_small
    from orchestration.config.priority import behind_the_minute
    from orchestration.supervise import backfill as history

    log_to(sys.stderr, chosen.log_format)
    stay_small()
    try:
        request = history.wanted(
            venue or (),
            kind or (),
            begin,
            end,
            symbols=symbols,
            again=again,
            sample=sample,
            within_s=within,
            dry_run=dry_run,
            folder=folder,
        )
    except history.WrongRequest as error:
        fail(str(error), code=2)
    _check_origin(chosen)
    with behind_the_minute():
        code = history.run_by_hand(chosen, request, typer.echo, lambda text: typer.echo(f"tidemark: {text}", err=True))
    raise typer.Exit(code)


@app.command(short_help="Build what has landed into the warehouse (dbt).")
def build(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build everything in the landing again.")] = False,
    publish: Annotated[bool, typer.Option("--publish", help="Publish it as a new edition too.")] = False,
) -> None:
    """Build the landed minutes that are not in the warehouse yet (dbt)."""
    chosen = settings()
    from orchestration.publish.at_once import published_at_once
    from orchestration.publish.publish import publish as run_publish
    from orchestration.warehouse.transform import build as run_build

    with one_sentence():
        report = reporter(chosen.log_format)
        built = run_build(chosen, rebuild=rebuild, publish=publish, report=report)
        report(f"{built.minutes} minutes of {built.loads} loads" if built else "nothing waits to be built")
        if publish:
            at_once = published_at_once(built.last if built else None)
            edition = at_once[0] if at_once else run_publish(chosen, report=report)
            report(f"edition {edition.edition_id}" if edition else "nothing new to publish")


@app.command(short_help="Build everything in the landing again, or some days, beside the running product.")
def rebuild(
    days: Annotated[
        str | None,
        typer.Option(help="Only these days (UTC), in place: `2026-11-01`, or `2026-11-01..2026-11-03`."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes that read the responses of finished days first.")
    ] = 1,
) -> None:
    """Build everything that was ever landed into a warehouse of its own, while minutes are built and served as before,
    and put it into the place of the warehouse at the end. With `--days` the rows of these days are replaced in the
    warehouse, window by window. It can be stopped at any time; the next run continues."""
    chosen = settings()
    from orchestration.config.clock import as_utc, days_of
    from orchestration.config.priority import behind_the_minute
    from orchestration.publish.publish import publish as run_publish
    from orchestration.warehouse.rebuild import rebuild as run_rebuild
    from orchestration.warehouse.staged import keep_ahead
    from orchestration.warehouse.upgrade import plan_days
    from orchestration.warehouse.upgrade import rebuild as rebuild_days

    try:
        span = days_of(days) if days else None
    except ValueError as error:
        fail(str(error), code=2)
    with one_sentence(), behind_the_minute():
        report = reporter(chosen.log_format)
        if workers > 1:
            keep_ahead(chosen, workers, report)
        if span:
            report(f"{plan_days(chosen, *span, report)} days are built again")
            for window in rebuild_days(chosen, paced=True, report=report):
                of_day = f"{as_utc(window.day_ms, '%Y-%m-%d')}: {window.minutes} minutes in {window.seconds:.1f} s"
                report(f"{of_day}, {window.left} days are left")
        else:
            for done in run_rebuild(chosen, report=report):
                speed = 60 * done.minutes / done.seconds
                report(
                    f"built to {as_utc(done.minute_ms)}: {done.minutes} minutes in {done.seconds:.1f} s, {speed:.0f} "
                    f"times real time, {done.days_left} days are left"
                )
        edition = run_publish(chosen, report=report)
        what = "the days are replaced" if span else "the warehouse is replaced"
        report(f"{what}: edition {edition.edition_id}" if edition else "nothing was landed yet")


@app.command(short_help="Build again what an earlier version built.")
def upgrade() -> None:
    """Adapt the warehouse to the models of this version, and build again the days whose rows they change, the newest
    first. `demo` and `up` do it by themselves, between the minutes. It can be stopped at any time; the next run
    continues."""
    chosen = settings()
    from orchestration.config.clock import as_utc
    from orchestration.warehouse.upgrade import rebuild

    with one_sentence():
        report = reporter(chosen.log_format)
        for done in rebuild(chosen, report=report):
            day = as_utc(done.day_ms, "%Y-%m-%d")
            report(f"{day}: {done.minutes} minutes in {done.seconds:.1f} s, {done.left} days are left")
        report("nothing is left to be built again: `tidemark publish` serves it")


@app.command(short_help="Serve from a lake that another host builds.")
def follow() -> None:
    """Publish each window that the lake's builder closes into this host's own replica, and serve it, until Ctrl-C."""
    chosen = settings()
    from orchestration.supervise import preflight, product

    with in_a_sentence(preflight.PreflightError):
        product.follow(chosen)


@app.command(short_help="Publish what is built as a new edition.")
def publish(
    follow: Annotated[
        bool, typer.Option(help="Publish each window that a lake's builder closes, until Ctrl-C.")
    ] = False,
) -> None:
    """Publish the built data as a new edition, which a running API serves within a second."""
    chosen = settings()
    from orchestration.publish.follow import follow as follow_lake
    from orchestration.publish.publish import publish as run_publish

    with one_sentence():
        report = reporter(chosen.log_format)
        if follow:
            follow_lake(chosen, report)
        edition = run_publish(chosen, report=report)
        report(f"edition {edition.edition_id}" if edition else "nothing new to publish")


@app.command(short_help="Write the finished days of the series as Parquet files.")
def bulk() -> None:
    """Write the finished days of the series as Parquet files, which the API serves at /api/bulk, and write those again
    whose rows have changed. Dagster does it every day. It can be stopped at any time; the next run continues."""
    chosen = settings()
    from orchestration.publish.bulk import write_bulk

    with one_sentence():
        report = reporter(chosen.log_format)
        done = write_bulk(chosen, report=report)
        report(
            f"{done.files} files written ({done.bytes / 1e6:.1f} MB), {done.unchanged} looked at and unchanged, "
            f"{done.removed} removed"
        )


@app.command(short_help="Serve the published edition as a JSON API.")
def serve() -> None:
    """Serve the published edition as a read-only JSON API, until Ctrl-C."""
    chosen = settings()
    from orchestration.publish.definitions import read_written
    from serve.app import run_server
    from serve.http.service import Setup
    from serve.replica.catalog import read_catalog

    log_to(sys.stderr, chosen.log_format)
    setup = Setup(
        chosen.serving,
        chosen.docs,
        chosen.keys,
        redis_url=chosen.redis_url,
        trusted_proxies=chosen.trusted_proxies,
        workers=chosen.api_workers,
        quality=chosen.quality_docs,
        public_hosts=chosen.public_hosts,
        mcp_revision=chosen.mcp_revision,
        mcp_sql=chosen.mcp_sql,
        security_contact=chosen.security_contact,
        catalog=read_catalog((name, json.dumps(definition)) for name, definition in read_written().items()),
        landing=chosen.api_landing,
        minutes=chosen.api_minutes,
        bulk=chosen.bulk,
        dagster=chosen.dagster_url,
        metrics=chosen.metrics,
    )
    run_server(setup, chosen.api_host, chosen.api_port)


app.add_typer(quarantine_app, name="quarantine", short_help="Show, try again or drop responses that are set aside.")
app.add_typer(keys_app, name="keys", short_help="Make, list and revoke API keys.")


@app.command(short_help="Run simulated exchanges (or replay recorded responses).")
def sandbox(
    simulate: Annotated[bool, typer.Option("--simulate", help="Answer from a deterministic simulated market.")] = False,
    replay: Annotated[
        Path | None, typer.Option(help="Answer with the recorded responses of this folder (replay.json).")
    ] = None,
    universe: Annotated[
        str | None,
        typer.Option(help=f"Size of the simulated market: {' or '.join(UNIVERSES)}; else TIDEMARK_UNIVERSE."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The simulated market's seed: the same seed, the same numbers.")] = 1,
) -> None:
    """Run simulated exchanges on this machine, with the paths and formats of the real ones, over HTTP and WebSocket.

    Give either --simulate or --replay. Point the recorder at them with TIDEMARK_VENUES_URL=http://127.0.0.1:9100.
    """
    chosen = settings()
    if simulate == (replay is not None):
        fail("give either --simulate or --replay DIR", code=2)
    if universe is not None and universe not in UNIVERSES:
        fail(f"--universe is '{universe}', but it must be one of: {', '.join(UNIVERSES)}", code=2)
    if replay is not None and not (replay / "replay.json").is_file():
        fail(f"--replay is '{replay}', but there is no replay.json in it", code=2)
    from sandbox.server import run_sandbox

    log_to(sys.stderr, chosen.log_format)
    mode: Literal["simulate", "replay"] = "simulate" if simulate else "replay"
    try:
        run_sandbox(chosen.sandbox_host, chosen.sandbox_port, mode, universe or chosen.universe, seed, replay)
    except ValueError as error:
        fail(str(error))


@app.command(short_help="Show how old the served data is and what fails.")
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Show the age of the served data and the recording state of each exchange. Exit code 1 if older than 3 minutes."""
    chosen = settings()
    from orchestration.cli.status import as_text, read_status

    found = read_status(chosen)
    if as_json:
        import json

        typer.echo(json.dumps(found, indent=2))
    else:
        typer.echo(as_text(found))
    raise typer.Exit(0 if found["state"] == "healthy" else 1)


@app.command(short_help="Say what recording costs on disk, by exchange and endpoint.")
def storage(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
    minutes: Annotated[int, typer.Option(help="The newest recorded minutes to measure.", min=1, max=1440)] = 60,
) -> None:
    """Say how many bytes there are, and what a day and a year of recording cost, by exchange and endpoint."""
    chosen = settings()
    from orchestration.cli.storage import as_text, read_storage

    with one_sentence():
        found = read_storage(chosen, minutes)
        typer.echo(json.dumps(found, indent=2) if as_json else as_text(found))


@app.command(short_help="Generate the dbt docs.")
def docs() -> None:
    """Generate the dbt docs, which the API serves at /dbt/: the meaning of every table, column and metric."""
    chosen = settings()
    from orchestration.config.priority import behind_the_minute
    from orchestration.warehouse.dbt_runner.docs import make_docs

    with one_sentence(), behind_the_minute():
        typer.echo(f"the docs are in {make_docs(chosen)}")


@app.command(short_help="Check the recorded data and write the quality report.")
def quality(
    daily: Annotated[bool, typer.Option("--daily", help="The checks of two days instead of those of an hour.")] = False,
) -> None:
    """Check the newest hour and write the quality report, which the API serves at /quality/. Dagster does it every
    hour, and every day with --daily."""
    chosen = settings()
    from orchestration.config.priority import behind_the_minute
    from orchestration.quality.run import in_words, run

    with one_sentence(), behind_the_minute():
        found = run(chosen, "daily" if daily else "hourly", report=lambda text: typer.echo(text, err=True))
        odd = [outcome for outcome in found if not outcome["passed"]]
        for outcome in odd:
            typer.echo(f"{outcome['check']}: {in_words(outcome)}")
        typer.echo(f"{len(found)} checks, {len(found) - len(odd)} as expected")


@app.command(short_help="Say whether this machine and its network can run it.")
def doctor(
    venue: Annotated[list[str] | None, typer.Option(help="Only this exchange; may be repeated.")] = None,
    warehouse: Annotated[bool, typer.Option("--warehouse", help="Prove the warehouse, and nothing else.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Ask each exchange once, listen to its streams for a while, let the models judge the answers, and look at disk,
    memory, limits, ports and clock. Changes nothing. Exit code 1 if something is not as it should be."""
    chosen = settings()
    from ingest.venues import VENUES
    from orchestration.cli.doctor import as_text, verdict
    from orchestration.supervise.doctor import OK, Finding, examine

    names = [one.name for one in VENUES]
    logging.getLogger("ingest").setLevel(logging.ERROR)
    if unknown := set(venue or ()) - set(names):
        fail(f"--venue is '{min(unknown)}', but it must be one of: {', '.join(names)}", code=2)
    with one_sentence():
        if warehouse:
            from orchestration.supervise.proof import warehouse_findings

            machine, exchanges = list(warehouse_findings(chosen)), list[Finding]()
        else:
            machine, exchanges = examine(chosen, venue or (), lambda text: typer.echo(text, err=True))
    good, sentence = verdict(machine, exchanges)
    if as_json:
        found = {"machine": [one._asdict() for one in machine], "exchanges": [one._asdict() for one in exchanges]}
        typer.echo(json.dumps({"verdict": sentence, **found}, indent=2))
    else:
        typer.echo(as_text(machine, exchanges, sentence))
    raise typer.Exit(0 if good and all(one.state == OK for one in exchanges) else 1)


@app.command(short_help="Back a home up, while everything runs.")
def backup(
    to: Annotated[Path, typer.Argument(help="Folder of the backups, best on another disk.", metavar="TO")],
    keep: Annotated[int, typer.Option(help="So many backups stay.", min=1)] = 3,
) -> None:
    """Make a backup below the folder TO: the landing, the warehouse, keys and progress. It may run at any time, and
    takes only what is new since the one before."""
    chosen = settings()
    from orchestration.supervise.backup import backup as run_backup

    with one_sentence():
        report = reporter(chosen.log_format)
        made = run_backup(chosen, to, keep, report)
        report(f"{made.folder}: {made.files} files, {made.new_files} of them new ({made.new_bytes / 1e6:.1f} MB)")


@app.command(short_help="Fill an empty home from a backup.")
def restore(
    origin: Annotated[Path, typer.Argument(help="A backup, or the folder of backups: its newest.", metavar="FROM")],
) -> None:
    """Fill an empty home from a backup and publish what it has. `tidemark up` goes on from there."""
    chosen = settings()
    from orchestration.publish.publish import publish as run_publish
    from orchestration.supervise.backup import restore as run_restore
    from orchestration.supervise.preflight import PreflightError, lock_home

    with one_sentence(), in_a_sentence(PreflightError):
        report = reporter(chosen.log_format)
        chosen.home.mkdir(parents=True, exist_ok=True)
        lock = lock_home(chosen.home)
        folder, files = run_restore(chosen, origin)
        report(f"{files} files restored from {folder}")
        edition = run_publish(chosen, report=report)
        report(f"edition {edition.edition_id}" if edition else "nothing is built yet")
        os.close(lock)


@app.command(short_help="Ask the newest edition in SQL: a shell, or one text.")
def sql(
    command: Annotated[str | None, typer.Option("-c", help="Run this text and end.", metavar="SQL")] = None,
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="How rows are written.")] = "table",
    seconds: Annotated[
        float | None, typer.Option(help="How long a text may take, 45 s without it: it holds up new editions.", min=1)
    ] = None,
    copy: Annotated[bool, typer.Option("--copy", help="Ask a copy of the edition, for as long as it takes.")] = False,
) -> None:
    """Ask the newest edition in SQL, read-only and beside the server. Each text sees the edition that is newest then.

    DuckDB's own statements work: `copy (…) to 'file.parquet'`, `create table mine as …`, which lives until the end.
    """
    chosen = settings()
    from tempfile import TemporaryDirectory

    import duckdb

    from orchestration.cli.sql import run_shell
    from orchestration.publish.session import SECONDS, Session, copied

    with ExitStack() as stack:
        stack.enter_context(one_sentence())
        stack.enter_context(in_a_sentence(duckdb.Error))
        serving = chosen.serving
        if copy:
            serving = copied(serving, Path(stack.enter_context(TemporaryDirectory(dir=chosen.home))))
        session = Session(serving, threading.TIMEOUT_MAX if copy else seconds or SECONDS)
        if command is None:
            run_shell(session, form)
        else:
            session.run(command, sys.stdout, form)


@app.command(short_help="Read the dbt project into its manifest.")
def parse() -> None:
    """Parse the dbt project into its manifest unless the manifest is up to date. `build` does this by itself."""
    chosen = settings()
    from orchestration.warehouse.dbt_runner.process import prepare_manifest

    with one_sentence():
        typer.echo(f"the manifest is {prepare_manifest(chosen)}")


@app.command(short_help="After the installation: read the dbt project and make its empty tables, once.")
def prepare() -> None:
    """Read the dbt project and make its empty tables, beside the project, so that a first start need not. `make` does
    this when it installs; without it, a first start takes half a minute longer."""
    from orchestration.warehouse.installed import prepare_installation

    with one_sentence():
        made = prepare_installation(typer.echo)
        typer.echo("prepared: a first start begins with these tables" if made else "it is prepared already")


@app.command(name="dbt-server", hidden=True)
def dbt_server() -> None:
    """Keep a dbt process ready for the builds: `demo` and `up` run this."""
    chosen = settings()
    from orchestration.publish.at_once import AtOnce
    from orchestration.warehouse.dbt_runner.server import run_server

    with one_sentence():
        run_server(chosen, AtOnce)
