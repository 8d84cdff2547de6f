"""Replay: a folder of recorded responses, with a `replay.json` that says which request each one belongs to."""

import gzip
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from sandbox.wire.endpoint import Response

_RESPONSE = {"venue": str, "method": str, "path": str, "params": dict, "body": dict, "status": int, "file": str,
             "text": str, "headers": dict}  # fmt: skip
_STREAM = {"venue": str, "path": str, "frames": str, "rate": (int, float)}


class ReplayError(ValueError):
    """replay.json cannot be served; the message names the entry and the field."""


@dataclass(slots=True)
class Recorded:
    """One entry: the requests that it matches, and the response to them."""

    venue: str
    method: str
    path: str
    params: dict[str, str]
    body: dict[str, Any] | None
    response: Response

    def matches(self, method: str, query: dict[str, str], body: Any) -> bool:
        """Whether a request to the path fits."""
        if self.method != method or any(query.get(name) != value for name, value in self.params.items()):
            return False
        return self.body is None or contains(body, self.body)

    def weight(self) -> int:
        """How specific the entry is: the number of values that a request must have."""
        return len(self.params) + _leaves(self.body)


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """Frames that a WebSocket sends after a client has connected or subscribed."""

    venue: str
    path: str
    frames: tuple[str, ...]
    rate: float  # frames a second


@dataclass(slots=True)
class Replay:
    """The recordings of a folder; entries for the same request are served in order, the last one repeats."""

    responses: list[Recorded]
    streams: list[RecordedStream]
    served: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def find(self, venue: str | None, method: str, path: str, query: dict[str, str], body: Any) -> Recorded | None:
        """The most specific entry; without a venue only if a single venue has the path."""
        found = [one for one in self.responses if one.path == path and venue in (None, one.venue)]
        if venue is None and len({one.venue for one in found}) > 1:
            return None
        found = [one for one in found if one.matches(method, query, body)]
        if not found:
            return None
        best = max(found, key=lambda one: one.weight())
        alike = [one for one in found if (one.params, one.body) == (best.params, best.body)]
        identity = (best.venue, method, path, orjson.dumps([best.params, best.body], option=orjson.OPT_SORT_KEYS))
        turn = self.served.get(identity, 0)
        self.served[identity] = turn + 1
        return alike[min(turn, len(alike) - 1)]

    def missing(self, venue: str | None, method: str, path: str, query: dict[str, str], body: Any) -> Response:
        """The 404 that lists what was requested and what is recorded."""
        known = sorted({f"{one.venue} {one.method} {one.path}" for one in self.responses})
        known += sorted({f"{one.venue} WebSocket {one.path}" for one in self.streams})
        asked = {"venue": venue, "method": method, "path": path, "params": query, "body": body}
        return Response(orjson.dumps({"error": "no recording matches", "asked": asked, "available": known}), 404)

    def stream(self, venue: str | None, path: str) -> RecordedStream | None:
        """The recorded stream of a path."""
        found = [one for one in self.streams if one.path == path and venue in (None, one.venue)]
        return found[0] if found else None


def contains(value: Any, wanted: Any) -> bool:
    """Whether `wanted` is a subset of `value`; lists must be equal."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(name in value and contains(value[name], wanted[name]) for name in wanted)
    return bool(value == wanted)


def _leaves(value: Any) -> int:
    return sum(_leaves(one) for one in value.values()) if isinstance(value, dict) else int(value is not None)


def _read(folder: Path, name: str, where: str) -> bytes:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ReplayError(f"{where}: {name!r} lies outside the replay folder")
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ReplayError(f"{where}: file {name!r} cannot be read ({error})") from None


def _checked(entry: Any, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ReplayError(f"{where} is not an object")
    known: dict[str, Any] = _STREAM if "frames" in entry else _RESPONSE
    for name, value in entry.items():
        if name not in known:
            raise ReplayError(f"{where}: unknown field {name!r} (known: {', '.join(known)})")
        if not isinstance(value, known[name]) or isinstance(value, bool):
            raise ReplayError(f"{where}: {name} has the wrong type ({type(value).__name__})")
    for name in ("venue", "path"):
        if not entry.get(name):
            raise ReplayError(f"{where}: {name} is missing")
    if not entry["path"].startswith("/"):
        raise ReplayError(f"{where}: path must begin with a slash, not {entry['path']!r}")
    if "frames" not in entry and ("file" in entry) == ("text" in entry):
        raise ReplayError(f"{where}: give either file or text")
    if "frames" in entry and entry.get("rate", 1) <= 0:
        raise ReplayError(f"{where}: rate must be above 0")
    return entry


def load_replay(folder: Path) -> Replay:
    """Read `replay.json` of a folder with all its bodies; ReplayError says what is wrong with it."""
    source = folder / "replay.json"
    try:
        content = orjson.loads(source.read_bytes())
    except OSError as error:
        raise ReplayError(f"{source} cannot be read ({error.strerror})") from None
    except orjson.JSONDecodeError as error:
        raise ReplayError(f"{source} is not JSON ({error})") from None
    entries = content.get("responses") if isinstance(content, dict) else content
    if not isinstance(entries, list) or not entries:
        raise ReplayError(f'{source} must be a list of entries or an object with a list "responses", and not empty')
    replay = Replay([], [])
    for number, raw in enumerate(entries):
        where = f"{source}: entry {number}"
        entry = _checked(raw, where)
        if "frames" in entry:
            try:
                lines = _read(folder, entry["frames"], where).decode().splitlines()
            except UnicodeDecodeError:
                raise ReplayError(f"{where}: frames {entry['frames']!r} are no text in UTF-8") from None
            frames = tuple(line for line in lines if line.strip())
            replay.streams.append(RecordedStream(entry["venue"], entry["path"], frames, float(entry.get("rate", 50))))
            continue
        body = entry["text"].encode() if "text" in entry else _read(folder, entry["file"], where)
        headers = {name: str(value) for name, value in entry.get("headers", {}).items()}
        response = Response(body, entry.get("status", 200), headers)
        params = {name: str(value) for name, value in entry.get("params", {}).items()}
        method = entry.get("method", "GET").upper()
        replay.responses.append(Recorded(entry["venue"], method, entry["path"], params, entry.get("body"), response))
    return replay
