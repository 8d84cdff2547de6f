"""The repository as a new contributor gets it: nothing specific to one machine, names and licences in order."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from orchestration.config.settings import REPOSITORY

LARGEST_BYTES = 600_000
# Files of others, served as they were published: their digests are checked by tests/serve/pages/test_pages.py.
VENDORED = REPOSITORY / "serve" / "pages" / "vendor"
# Homes of earlier releases, packed: one for each change of the tables.
RELEASES, PACKED_HOME_BYTES = REPOSITORY / "tests" / "support" / "pipeline" / "releases", 1_400_000
# Built from parts, so that this file passes its own test.
OF_A_MACHINE = re.compile(r"(?<![\w.])/(?:" + "|".join(["home", "Users", "root", "work", "opt"]) + r")/\w")
REGISTRY = re.compile("|".join(["pypi" + r"\.org", "python" + "hosted", "extra-" + "index-url", "--index" + "-url"]))


def committed() -> list[Path]:
    """The files that git knows, and new ones that it does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := REPOSITORY / name).is_file()]


def texts() -> list[tuple[str, str]]:
    found = []
    for path in committed():
        try:
            found.append((str(path.relative_to(REPOSITORY)), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def test_no_path_of_a_machine() -> None:
    assert [f"{name}: {found[0]}" for name, text in texts() if (found := OF_A_MACHINE.search(text))] == []


def test_no_package_registry() -> None:
    assert [f"{name}: {found[0]}" for name, text in texts() if (found := REGISTRY.search(text))] == []


def test_no_large_file() -> None:
    own = [path for path in committed() if VENDORED not in path.parents]
    largest = {path: PACKED_HOME_BYTES if RELEASES in path.parents else LARGEST_BYTES for path in own}
    assert [str(path) for path in own if path.stat().st_size > largest[path]] == []


def test_no_state_is_committed() -> None:
    wrong = (".duckdb", ".parquet", ".log", ".wal")
    assert [str(path) for path in committed() if path.suffix in wrong or path.name.startswith(":")] == []


def test_every_python_file_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(REPOSITORY))
        for path in committed()
        if path.suffix == ".py" and path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_the_server_knows_nothing_of_the_dbt_project() -> None:
    """What it needs of it is published."""
    assert [name for name, text in texts() if re.match(r"serve/.*[.]py$", name) and "dbt_project" in text] == []


def test_no_vague_names() -> None:
    vague = {"utils", "util", "helpers", "base", "manager", "common", "misc"}
    assert [str(path) for path in committed() if path.stem in vague] == []


def test_the_licence_is_the_declared_one() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    text = (REPOSITORY / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("of", ["", "-lake", "-dev", "-uv"])
def test_every_requirement_is_pinned_with_its_hash(of: str) -> None:
    lines = (REPOSITORY / f"requirements{of}.lock").read_text().replace("\\\n", " ").splitlines()
    for line in lines:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ ", line), line
        assert "--hash=sha256:" in line, line
    # The editable install builds without a download: its backend is locked too.
    assert any(line.startswith(("setuptools==", "uv==")) for line in lines)


def test_each_lock_agrees_with_the_smaller_one() -> None:
    pins = [
        {line.partition(" ")[0] for line in (REPOSITORY / name).read_text().splitlines() if re.match(r"\w", line)}
        for name in ("requirements.lock", "requirements-lake.lock", "requirements-dev.lock")
    ]
    assert pins[0] < pins[1] < pins[2]
