"""`tidemark keys`: make, list and revoke API keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.console import in_a_sentence, settings

keys_app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@contextmanager
def usable_keys() -> Iterator[Path]:
    """Open the key file; an unreadable file or a wrong argument is reported as one sentence."""
    from serve.http.keys import KeyFileError

    with in_a_sentence(KeyFileError):
        yield settings().keys


@keys_app.command(name="create")
def create_key(name: Annotated[str, typer.Argument(help="Whose key it is, for the list.")]) -> None:
    """Make an API key and print it. It is shown only once: the file keeps its SHA-256."""
    from serve.http.keys import create_key as make

    with usable_keys() as path:
        made, text = make(path, name)
        typer.echo(f"key {made.id} for {made.name}; it is shown only now:", err=True)
        typer.echo(text)


@keys_app.command(name="list")
def list_keys() -> None:
    """List all keys, revoked ones too: id, state, creation time, owner."""
    from datetime import UTC, datetime

    from serve.http.keys import read_keys

    with usable_keys() as path:
        for key in read_keys(path):
            state = "valid" if key.revoked_ms is None else "revoked"
            made = f"{datetime.fromtimestamp(key.created_ms / 1000, UTC):%Y-%m-%d %H:%M}"
            typer.echo(f"{key.id}  {state:<7}  {made}  {key.name}")


@keys_app.command(name="revoke")
def revoke_key(key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as listed.")]) -> None:
    """Revoke a key for ever; running servers reject it within a second or two."""
    from serve.http.keys import revoke_key as revoke

    with usable_keys() as path:
        typer.echo(f"key {revoke(path, key_id).id} is revoked")
