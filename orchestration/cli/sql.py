"""`tidemark sql`: a shell on the newest edition, or one text of SQL."""

import sys
from contextlib import suppress

import duckdb

from orchestration.publish.edition import NothingPublishedError, read_current
from orchestration.publish.session import Form, Session
from orchestration.warehouse.writer import PipelineError

PROMPT, MORE = "tidemark> ", "       -> "
HELP = "`show tables;` lists its tables, `describe TABLE;` their columns, Ctrl-D ends"


def run_shell(session: Session, form: Form) -> None:
    """Read statements that end with a semicolon and run them, until the end of the input. What fails is printed."""
    with suppress(ImportError):
        import readline  # noqa: F401 - `input` then has editing and a history

    current = read_current(session.serving)
    if current is None:
        raise NothingPublishedError(session.serving)
    print(f"edition {current['edition_id']}; {HELP}", flush=True)
    text = ""
    while True:
        try:
            text += input(MORE if text else PROMPT) + "\n"
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            text = ""
            continue
        if not text.strip():
            text = ""
        elif text.rstrip().endswith(";"):
            try:
                session.run(text, sys.stdout, form)
            except (duckdb.Error, PipelineError) as error:
                print(error, file=sys.stderr)
            except KeyboardInterrupt:
                print("interrupted", file=sys.stderr)
            text = ""
