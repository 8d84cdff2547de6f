"""What every command of `tidemark` starts and fails with: the settings, and one sentence instead of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from orchestration.settings import Settings, SettingsError


def settings() -> Settings:
    try:
        return Settings.from_env()
    except SettingsError as error:
        fail(str(error), code=2)


def fail(message: str, code: int = 1) -> NoReturn:
    typer.echo(f"tidemark: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def one_sentence() -> Iterator[None]:
    """A failure of the pipeline that a person can act on is its message, not a traceback."""
    from orchestration.writer import PipelineError

    try:
        yield
    except PipelineError as error:
        fail(str(error))
