"""Shared by all `tidemark` commands: reading the settings, and printing expected errors as one sentence without a
traceback."""

import errno
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn

import typer

from orchestration.config.places import SettingsError
from orchestration.config.settings import Settings


def settings() -> Settings:
    try:
        return Settings.from_env()
    except SettingsError as error:
        fail(str(error), code=2)


def fail(message: str, code: int = 1) -> NoReturn:
    typer.echo(f"tidemark: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def in_a_sentence(*kinds: type[Exception]) -> Iterator[None]:
    """Print errors of these kinds, and errors of the operating system (a full disk), as their message, without a
    traceback."""
    try:
        yield
    except kinds as error:
        fail(str(error))
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of the output has closed it, for example `head`
            raise
        what = f"{error.filename} cannot be used" if error.filename else "the system refused"
        fail(f"{what}: {error.strerror or error}")


def one_sentence() -> AbstractContextManager[None]:
    """Print a pipeline failure that a person can act on as its message, without a traceback."""
    from duckdb import IOException

    from ingest.landing.store import StoreFault
    from orchestration.warehouse.writer import PipelineError

    return in_a_sentence(PipelineError, StoreFault, IOException)
