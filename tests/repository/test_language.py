"""Words that stood for something with a usual name: only those who wrote them understood them, so they stay out."""

import re

from orchestration.config.settings import REPOSITORY
from tests.repository.test_repository import VENDORED, texts

# Expression → what to write instead.
PLAIN = {
    r"(?<!\.)\b_?(?:told|tells?)\b(?!\()|told_|_told": "reported, published, says",
    r"\bstand[-_ ]?ins?\b": "simulator, sandbox, simulated venue",
    r"\boccasions?\b": "trigger",
    r"\bheld[ _]most\b": "highest open interest",
    r"\bput[ _]aside\b": "renamed, rotated",
    r"\bbr(?:oken|oke|eaks)[ _]off\b": "interrupted",
    r"\b(?:sealed|gathered)\b(?!\.bin)": "clustered, compacted",
    r"\bwhoever\b": "the client, the process, the caller",
    r"\b(?:fallow|by[ _]and[ _]by|of[ _]old)\b": "the time or the condition",
}
# Files of others, and the list of the words themselves.
LEFT_OUT = (str(VENDORED.relative_to(REPOSITORY)), "tests/repository/test_language.py")


def test_plain_words() -> None:
    own = [(name, text) for name, text in texts() if not name.startswith(LEFT_OUT)]
    assert [
        f"{name}: {hit[0]!r}, write: {plain}"
        for expression, plain in PLAIN.items()
        for name, text in own
        for hit in re.finditer(expression, text, re.IGNORECASE)
    ] == []
