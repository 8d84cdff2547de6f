"""Single bodies out of the recordings that keep many in one file: JKorf's samples, cryptofeed's logs, raw messages."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.recordings.recorded import read


def sample(folder: Path, name: str) -> Any:
    """The body of one of JKorf's REST samples: below the method, the path and whether it needs a key."""
    text: str = next(one["text"] for one in read(folder / "samples.jkorf.json") if one["file"].endswith(name))
    lines = text.split("\n")
    start = next(n for n, line in enumerate(lines) if line.lstrip()[:1] in ("[", "{"))
    return json.loads("\n".join(lines[start:]))


def logged(file: Path, url: str) -> Any:
    """The body that a cryptofeed log (`url -> time: body`) holds for a URL."""
    text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text()
    line = next(line for line in text.splitlines() if line.startswith(f"{url} -> "))
    return json.loads(line.partition(" -> ")[2].partition(": ")[2])


def raw(folder: Path, section: str, test: str) -> Any:
    """One raw message of crypto-msg-parser."""
    messages = read(folder / "raw-messages.crypto-msg-parser.json")
    return next(one["raw"] for one in messages if (one["section"], one["test"]) == (section, test))


def frames(folder: Path, channel: str) -> Iterator[Any]:
    """The frames of a channel in tardis-node's messages."""
    for one in read(folder / "ws-messages.tardis.json"):
        if one["message"].get("channel") == channel and one["message"].get("event") == "update":
            yield one["message"]
