"""The tests mirror the tree: a module's test is found by its path, and a test file says what it tests by its path."""

import tomllib
from pathlib import Path

import pytest

from orchestration.config.settings import REPOSITORY

ROOMS: list[str] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
ALIKE = {
    "ingest/venues": "declarations of one kind, held to one table of checks; a venue of its own kind has more",
    "sandbox/venues": "simulated exchanges: each serves what is recorded of the real one, on its hosts",
    "sandbox/market/listings": "lists of markets of one kind: the same rules hold for each",
}
"""Packages of like modules, with the reason: the one parametrized test of the package stands for them all."""


def is_alike(path: Path) -> bool:
    """Whether a module or package lies in a package of like modules."""
    return any(str(parent) in ALIKE for parent in path.parents)


def modules(room: str) -> list[Path]:
    """What a room consists of, relative to the repository: its modules, and its packages of like modules."""
    files = [path.relative_to(REPOSITORY) for path in sorted((REPOSITORY / room).rglob("*.py"))]
    packages = [Path(package) for package in ALIKE if Path(room) in Path(package).parents]
    return [
        *packages,
        *(path for path in files if path.name not in ("__init__.py", "__main__.py") and not is_alike(path)),
    ]


def test_of(module: Path) -> Path:
    """Where the test of a module is; that of a package of like modules is inside the package's folder."""
    folder = module if str(module) in ALIKE else module.parent
    return Path("tests") / folder / f"test_{module.stem}.py"


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", ROOMS)
def test_each_module_has_its_test(room: str) -> None:
    missing = {str(module): str(test_of(module)) for module in modules(room)}
    assert {module: test for module, test in missing.items() if not (REPOSITORY / test).exists()} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_each_test_file_names_what_it_tests(room: str) -> None:
    """A module or package of its folder; in the folder of a package of like modules, the package or one of them."""
    unknown = []
    for test in sorted((REPOSITORY / "tests" / room).rglob("test_*.py")):
        folder, name = test.parent.relative_to(REPOSITORY / "tests"), test.stem.removeprefix("test_")
        named = REPOSITORY / folder / name
        of_package = folder.name == name and str(folder) in ALIKE
        if not (of_package or named.with_suffix(".py").is_file() or (named / "__init__.py").is_file()):
            unknown.append(str(test.relative_to(REPOSITORY)))
    assert unknown == []


def test_packages_of_like_modules_exist_and_are_like() -> None:
    """Each has modules enough to be one kind, so that the list cannot hide a module that stands alone."""
    for package in ALIKE:
        parts = [path for path in (REPOSITORY / package).iterdir() if path.stem[0] != "_"]
        assert len(parts) > 5, package
