"""All tools together: fifty questions of traders and analysts, each answered in few calls and few tokens."""

from collections.abc import Iterator
from typing import Any

import duckdb
import orjson
import pytest

from tests.support.facts.questions import QUESTIONS, Question
from tests.support.replica.xray_replica import xray_server
from tests.support.servers.mcp_calls import TOOLS, Mcp

MOST_CALLS, MOST_TOKENS = 3, 6_000
BYTES_A_TOKEN = 4


@pytest.fixture(scope="module")
def xray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    with xray_server(tmp_path_factory.mktemp("questions")) as api:
        yield Mcp(api)


@pytest.mark.requirement("mcp:questions")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.asked)
def test_a_question_is_answered(question: Question, request: pytest.FixtureRequest) -> None:
    mcp: Mcp = request.getfixturevalue(question.server)
    data: list[Any] = []
    size = 0
    for name, arguments in question.calls:
        envelope = mcp.call(name, arguments(data) if callable(arguments) else arguments)
        size += len(orjson.dumps(envelope))
        data.append(envelope["data"])
    with duckdb.connect(str(mcp.api.serving / "replica_a.duckdb"), read_only=True) as con:
        truth = question.truth(con)
    assert truth not in (None, [], {})
    assert near(question.read(*data), truth), (question.read(*data), truth)
    assert len(question.calls) <= MOST_CALLS
    assert size / BYTES_A_TOKEN < MOST_TOKENS


@pytest.mark.requirement("mcp:questions")
def test_there_are_fifty_questions_and_each_tool_answers_some() -> None:
    assert len({question.asked for question in QUESTIONS}) == len(QUESTIONS) >= 50
    assert {name for question in QUESTIONS for name, _ in question.calls} == {*TOOLS, "sql_query"}


def near(found: Any, exact: Any) -> bool:
    """Whether an answer is the exact one, as far as six significant digits go."""
    if isinstance(exact, list | tuple):
        same = isinstance(found, list | tuple) and len(found) == len(exact)
        return same and all(near(one, other) for one, other in zip(found, exact, strict=True))
    if isinstance(exact, dict):
        return found.keys() == exact.keys() and all(near(found[name], exact[name]) for name in exact)
    if isinstance(exact, float) and not isinstance(found, bool):
        return found is not None and found == pytest.approx(exact, rel=2e-5, abs=1e-12)
    return bool(found == exact)
