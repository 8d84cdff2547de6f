"""Undocumented parts of dependencies: the table in docs/contributing.md lists each, with the test that guards it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from orchestration.config.settings import REPOSITORY

ROOMS = ("ingest", "orchestration", "sandbox", "serve")
HEADING = "## Undocumented parts of dependencies"
# Of these packages other modules than the listed ones are undocumented.
DOCUMENTED = {
    "aiocache": {"aiocache"},
    "dbt": {"dbt.cli.main"},
    "dbt_common": set[str](),
    "dagster": {"dagster"},
    "dagster_dbt": {"dagster_dbt", "dagster_dbt.errors"},
    "dagster_webserver": set[str](),
    "dlt": {"dlt", "dlt.common.configuration.specs", "dlt.destinations"},
    "great_expectations": {"great_expectations", "great_expectations.expectations", "great_expectations.checkpoint"},
    "sanic": {"sanic", "sanic.exceptions", "sanic.request", "sanic.response", "sanic.worker.loader"},
}
# Exported, but not documented.
UNDOCUMENTED_NAMES = {"DbtCliInvocation"}
# What any Python program may use, though its name begins with an underscore.
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}


class Row(NamedTuple):
    """A row of the table: the parts, the module that uses them, the guarding test and its file."""

    parts: list[str]
    module: str
    test: str
    file: str


def table() -> list[Row]:
    text = (REPOSITORY / "docs/contributing.md").read_text().split(HEADING)[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    cells = [[re.findall(r"`([^`]+)`", cell) for cell in line] for line in lines]
    return [Row(parts, module, *test) for parts, [module], _, test in cells]


def uses(path: Path) -> Iterator[str]:
    """The undocumented parts of dependencies that a file imports, calls or overrides."""
    tree = ast.parse(path.read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner == "sys" and node.attr in ("meta_path", "path_hooks"):
                yield f"sys.{node.attr}"
            if _private(node.attr) and owner not in ("self", "cls", "super()") and node.attr not in own:
                yield node.attr
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("gxe.") for base in node.bases):
            yield from (one.name for one in node.body if isinstance(one, ast.FunctionDef) and _private(one.name))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    named = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    for module in named:
        package = module.partition(".")[0]
        if package in DOCUMENTED and module not in DOCUMENTED[package]:
            yield module
        if package not in ROOMS:
            yield from filter(_private, module.split("."))
            yield from (alias.name for alias in node.names if _private(alias.name) or alias.name in UNDOCUMENTED_NAMES)


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def covers(row: Row, part: str) -> bool:
    return any(part == listed or part.startswith(f"{listed}.") for listed in row.parts)


def test_every_use_is_listed() -> None:
    rows = table()
    files = [path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py")]
    found = {(str(path.relative_to(REPOSITORY)), part) for path in files for part in uses(path)}
    assert len({part for _, part in found}) > 5
    unlisted = [use for use in found if not any(row.module == use[0] and covers(row, use[1]) for row in rows)]
    assert sorted(unlisted) == []


@pytest.mark.parametrize("row", table(), ids=lambda row: row.parts[0])
def test_a_row_is_true(row: Row) -> None:
    """The module uses the parts, and the test exists."""
    text = (REPOSITORY / row.module).read_text()
    assert [part for part in row.parts if part not in text] == []
    assert re.search(rf"^(?:async )?def {row.test}\(", (REPOSITORY / row.file).read_text(), re.MULTILINE), row.test


def test_uses_are_found(tmp_path: Path) -> None:
    """Of each kind one."""
    file = tmp_path / "module.py"
    file.write_text(
        "import sys\nfrom aiocache.base import BaseCache\nfrom os import _exit\nfrom duckdb import _duckdb\n"
        "sys.meta_path.clear()\ncache._cache.clear()\nself._own()\n"
        "class Check(gxe.Rows):\n    def _validate(self): ...\n"
    )
    assert set(uses(file)) == {"aiocache.base", "_duckdb", "sys.meta_path", "_cache", "_validate"}
