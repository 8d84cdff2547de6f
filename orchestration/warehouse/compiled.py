"""The SQL of each model as dbt last ran it, kept in the warehouse: a host that publishes from it says how the numbers
are made, also if another host built them.

dbt leaves the SQL of each model that it runs beside the manifest. A minute's build leaves most of it as it was: only
the tables that hold the window's rows have other SQL (the files to read, the kinds that arrived), and only what differs
is written.
"""

import hashlib
import re
from pathlib import Path

import duckdb

from orchestration.warehouse.writer import literals

# Where the landing lies on this host is nobody's business; the name of the file is.
FOLDER = re.compile(r"'[^'\n]*/(?=responses/)")


def note_compiled(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write what differs from `pipeline.compiled`, of dbt's folder of compiled models."""
    texts = _compiled(folder)
    kept = dict(con.execute("select model, md5(sql) from pipeline.compiled").fetchall())
    changed = [name for name, text in texts.items() if kept.get(name) != _md5(text)]
    replaced = [*changed, *(kept.keys() - texts.keys())]
    if replaced:
        con.execute("begin")
        con.execute(f"delete from pipeline.compiled where model in ({literals(*replaced)})")
        for name in changed:
            con.execute(f"insert into pipeline.compiled values ({literals(name, texts[name])})")
        con.execute("commit")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _compiled(folder: Path) -> dict[str, str]:
    """Name and SQL of each model that dbt has run."""
    files = (file for kind in ("sql", "py") for file in folder.glob(f"*/models/**/*.{kind}"))
    # The SQL of a table's tests lies in a folder that is named after the yml.
    found = sorted((file.stem, file) for file in files if file.parent.suffix != ".yml")
    return {name: FOLDER.sub("'", file.read_text()) for name, file in found}
