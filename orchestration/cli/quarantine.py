"""`tidemark quarantine`: list, try again and drop the responses that are set aside because a model failed with them."""

from typing import Annotated

import typer

from orchestration.cli.console import one_sentence, settings

quarantine_app = typer.Typer(
    help="List, try again and drop the responses that are set aside because a model failed with them.",
    no_args_is_help=True,
)
Ids = Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Numbers, as listed.")]


@quarantine_app.command(name="list")
def list_quarantine(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead of text.")] = False,
) -> None:
    """List what is set aside: number, state, minute, request, size, load, the models that failed and their error."""
    import json
    from dataclasses import asdict

    from orchestration.warehouse.quarantine import as_text, listed

    chosen = settings()
    with one_sentence():
        found = listed(chosen)
        typer.echo(json.dumps([asdict(body) for body in found], indent=2) if as_json else as_text(found))


@quarantine_app.command(name="retry")
def retry(ids: Ids = None) -> None:
    """Build the minutes of these responses again, with them; without numbers, of all that are not dropped.

    What fails again is set aside again. While `demo` or `up` runs, the next minute's build does it.
    """
    from orchestration.warehouse.quarantine import mark
    from orchestration.warehouse.transform import build

    chosen = settings()
    with one_sentence():
        count = mark(chosen, ids or [], "retrying")
        typer.echo(f"{count} responses are tried again")
        if count:
            build(chosen)


@quarantine_app.command(name="drop")
def drop(ids: Annotated[list[int], typer.Argument(metavar="ID...", help="Numbers, as listed.")]) -> None:
    """Leave these responses out for ever: they stay in the landing, and no build tries them again."""
    from orchestration.warehouse.quarantine import mark

    chosen = settings()
    with one_sentence():
        typer.echo(f"{mark(chosen, ids, 'dropped')} responses are dropped")
