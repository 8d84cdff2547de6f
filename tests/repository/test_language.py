"""Words that stood for something with a usual name: only those who wrote them understood them, so they stay out."""

import re

from orchestration.config.settings import REPOSITORY
from tests.repository.test_repository import VENDORED, texts

# Expression → what to write instead. Matched between letters, so that names with underscores count too.
PLAIN = {
    r"told|tells?(?!\()": "reported, published, says",
    r"stand[-_ ]?ins?": "simulator, sandbox, simulated venue",
    r"occasions?": "trigger",
    r"held[ _]most": "highest open interest",
    r"put[ _]aside": "renamed, rotated",
    r"br(?:oken|oke|eaks)[ _]off": "interrupted",
    r"(?:sealed(?!\.bin)|gathered)": "clustered, compacted",
    r"whoever": "the client, the process, the caller",
    r"anew": "again, rewritten",
    r"outdone|by[ _]lot|stands?[ _]beside": "superseded, random, is next to",
    r"(?:window|written|built|file|max|newest)[ _]ticks|ticks_to": "minutes",
    r"fallow|by[ _]and[ _]by|of[ _]old": "the time or the condition",
}
# Files of others, and the list of the words themselves.
LEFT_OUT = (str(VENDORED.relative_to(REPOSITORY)), "tests/repository/test_language.py")


def test_plain_words() -> None:
    own = [(name, text) for name, text in texts() if not name.startswith(LEFT_OUT)]
    assert [
        f"{name}: {hit[0]!r}, write: {plain}"
        for expression, plain in PLAIN.items()
        for name, text in own
        for hit in re.finditer(rf"(?<![a-z])(?:{expression})(?![a-z])", text, re.IGNORECASE)
    ] == []
