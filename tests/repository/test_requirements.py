"""Every obligation has a test and every test names an obligation that exists."""

import ast
from pathlib import Path

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parents[1]


def marks(path: Path) -> set[str]:
    """The ids in `requirement(...)` marks of a test file."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {
        argument.value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def proved() -> set[str]:
    """The ids that some test names."""
    return set().union(*(marks(path) for path in sorted(TESTS.rglob("test_*.py"))))


def test_every_requirement_has_a_test() -> None:
    assert sorted(set(REQUIREMENTS) - proved()) == []


def test_every_mark_names_a_requirement() -> None:
    assert sorted(proved() - set(REQUIREMENTS)) == []


def test_every_api_test_names_a_requirement() -> None:
    unmarked = [
        f"{path.relative_to(TESTS)}: {node.name}"
        for path in sorted((TESTS / "serve").rglob("test_*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if "requirement" not in ast.unparse(ast.Module(body=[*map(ast.Expr, node.decorator_list)], type_ignores=[]))
    ]
    assert unmarked == []
