"""The generated dbt docs (every model, column and metric), as files that the API serves at /dbt/."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orchestration.config.settings import Settings
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.dbt_runner.process import PARSED, prepare_manifest, run_dbt

FILES = ("manifest.json", "catalog.json", "index.html")
# Keys of a metric's `meta`: those that fit on one line, and those that get a heading in the description.
BRIEF = ("api_name", "unit", "aliases", "selectors", "types", "version")
SPELT_OUT = ("formula", "caveats", "fields", "kinds", "rows", "source", "changes")


def make_docs(settings: Settings) -> Path:
    """Generate the docs and move them into place, file by file; returns their folder.

    dbt reads column types from the warehouse, so this takes the writer lock; it starts from a copy of the parsed
    project.
    """
    prepare_manifest(settings)
    settings.docs.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.home) as made:
        for name in PARSED:
            shutil.copy2(settings.dbt_target / name, made)
        with warehouse_lock(settings, "dbt docs") as lock:
            run_dbt(settings, ["docs", "generate", "--no-compile", "--target-path", made], lock=lock)
        _spell_out_metrics(Path(made, FILES[0]))
        for name in FILES:
            Path(made, name).replace(settings.docs / name)
    return settings.docs


def _spell_out_metrics(manifest: Path) -> None:
    """Move the long parts of each metric's definition from its `meta` into its description.

    The pages show `meta` as one line of JSON that is cut off at the panel's edge; a description is Markdown.
    """
    content = json.loads(manifest.read_bytes())
    for node in content["metrics"].values():
        if "api_name" in (meta := node["meta"]):
            node["description"] = "\n\n".join([node["description"], *_sections(meta)])
            node["meta"] = {key: _line(value) for key, value in meta.items() if key in BRIEF and value not in ([], {})}
    manifest.write_text(json.dumps(content))


def _sections(meta: dict[str, Any]) -> Iterator[str]:
    """A metric's links to the explorer and its definition, as Markdown with headings."""
    name = meta["api_name"]
    chart = f", [its chart for BTC](/coins/BTC/{name})" if "base" in meta["selectors"] else ""
    yield f"[Its page](/catalog/{name}){chart}, [its methodology](/api/methodology/{name})"
    yield f"#### Formula\n\n{_plain(meta['formula'])}"
    yield "#### Caveats\n\n" + "\n".join(f"- {_plain(caveat)}" for caveat in meta["caveats"])
    fields = {name: _sql(field) for name, field in meta["fields"].items()}
    yield "#### Fields\n\n" + _table("field", fields)
    if kinds := meta.get("kinds"):
        yield "#### Kinds\n\n" + _table("`{kind}`", {name: f"`{kind['sql']}`" for name, kind in kinds.items()})
    if rows := meta.get("rows"):
        yield f"#### Rows\n\n```sql\n{rows}\n```"
    settings = {key: f"`{_line(value)}`" for key, value in meta.items() if key not in (*BRIEF, *SPELT_OUT)}
    yield "#### Settings\n\n" + _table("setting", settings)
    yield f"#### Source\n\n{_plain(meta['source'])}"
    changes = [f"- {one['date']}, version {one['version']}: {_plain(one['change'])}" for one in meta["changes"]]
    yield "#### Changes\n\n" + "\n".join(changes)


def _sql(field: dict[str, str]) -> str:
    return f"running sum of `{field['running']}`" if "running" in field else f"`{field.get('sql') or field['column']}`"


def _table(heading: str, cells: dict[str, str]) -> str:
    lines = [f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in cells.items()]
    return "\n".join([f"| {heading} | |", "|---|---|", *lines])


def _line(value: Any) -> str:
    """A value of `meta` as text."""
    match value:
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{key}: {item}" for key, item in value.items())
        case bool():
            return "yes" if value else "no"
    return str(value)


def _plain(text: str) -> str:
    """Text with its asterisks and underscores escaped for Markdown."""
    return re.sub(r"([*_])", r"\\\1", text)
