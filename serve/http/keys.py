"""API keys: created, listed and revoked by the command line, checked by the server.

The file holds only the SHA-256 of each key. Servers reload the file when it has changed, so that a revocation takes
effect within a second.
"""

import fcntl
import hashlib
import hmac
import json
import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

PREFIX = "tm_"
CHECK_INTERVAL_S = 1.0
MAX_NAME = 80
log = logging.getLogger("tidemark.serve")


class KeyFileError(ValueError):
    """The file of keys is unusable, or has no such key: one sentence for the operator."""


@dataclass(frozen=True)
class Key:
    """One key as stored. `revoked_ms` None: it is valid."""

    id: str
    name: str
    sha256: str
    created_ms: int
    revoked_ms: int | None = None


def digest(key: str) -> str:
    """The stored hash of a key. A key has 256 random bits, so a plain hash cannot be reversed by guessing."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def read_keys(path: Path) -> list[Key]:
    """All keys ever made, oldest first."""
    try:
        return [Key(**row) for row in json.loads(path.read_bytes())["keys"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise KeyFileError(f"{path} cannot be read as keys: {error}") from error


def create_key(path: Path, name: str) -> tuple[Key, str]:
    """Create a key; returns its record and the key itself, which is stored nowhere."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise KeyFileError(f"a key's name has 1 to {MAX_NAME} printable characters, got {name!r}")
    text = PREFIX + secrets.token_urlsafe(32)
    with _changing(path) as keys:
        taken = {key.id for key in keys}
        key_id = next(fresh for fresh in iter(lambda: secrets.token_hex(4), "") if fresh not in taken)
        made = Key(key_id, name, digest(text), _now_ms())
        keys.append(made)
    return made, text


def revoke_key(path: Path, key_id: str) -> Key:
    """Revoke a key permanently."""
    with _changing(path) as keys:
        for position, key in enumerate(keys):
            if key.id == key_id:
                if key.revoked_ms is None:
                    keys[position] = replace(key, revoked_ms=_now_ms())
                return keys[position]
        raise KeyFileError(f"there is no key {key_id!r}; `tidemark keys list` shows the ids")


@contextmanager
def _changing(path: Path) -> Iterator[list[Key]]:
    """The keys, to be modified; the whole file is replaced if the block succeeds. One process at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        keys = read_keys(path)
        yield keys
        partial = path.with_name(f"{path.name}.new")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"keys": [asdict(key) for key in keys]}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class KeyRing:
    """The valid keys, reloaded from the file when it changes."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._valid: tuple[tuple[bytes, str], ...] = ()
        self._signature: tuple[int, ...] | None = None
        self._checked = float("-inf")

    def find(self, text: str) -> str | None:
        """The id of a valid key; None for any other text. In constant time for all keys."""
        self._reload()
        asked = digest(text).encode()
        found = None
        for sha256, key_id in self._valid:
            if hmac.compare_digest(sha256, asked):
                found = key_id
        return found

    def _reload(self) -> None:
        now = time.monotonic()
        if self.path is None or now - self._checked < CHECK_INTERVAL_S:
            return
        self._checked = now
        try:
            stat = self.path.stat()
            signature = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        except OSError:
            self._valid, self._signature = (), None
            return
        if signature == self._signature:
            return
        self._signature = signature
        try:
            keys = read_keys(self.path)
        except KeyFileError as error:
            # An unreadable file admits nobody.
            log.error("no key is valid: %s", error)
            keys = []
        self._valid = tuple((key.sha256.encode(), key.id) for key in keys if key.revoked_ms is None)
