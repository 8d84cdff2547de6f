"""What every command of `tidemark` starts and fails with: the settings, and one sentence instead of a traceback."""

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
    """Errors of these kinds, and what the system refuses (a full disk), are their message, not a traceback."""
    try:
        yield
    except kinds as error:
        fail(str(error))
    except OSError as error:
        if error.errno == errno.EPIPE:  # whoever read the output has enough of it
            raise
        what = f"{error.filename} cannot be used" if error.filename else "the system refused"
        fail(f"{what}: {error.strerror or error}")


def one_sentence() -> AbstractContextManager[None]:
    """A failure of the pipeline that a person can act on is its message, not a traceback."""
    from duckdb import IOException

    from orchestration.warehouse.writer import PipelineError

    return in_a_sentence(PipelineError, IOException)
