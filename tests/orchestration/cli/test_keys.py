"""`tidemark keys`: made, listed and revoked."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from serve.http.keys import KeyRing, digest
from tests.support.command import TIDEMARK


@pytest.mark.requirement("keys:hashed", "keys:cli")
def test_the_command_makes_lists_and_revokes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {**os.environ, "TIDEMARK_HOME": str(home)}

    def keys(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([TIDEMARK, "keys", *words], env=env, capture_output=True, text=True, check=False)

    assert (keys("list").returncode, keys("list").stdout) == (0, "")
    made = keys("create", "Ada's notebook")
    text = made.stdout.strip()
    assert made.returncode == 0
    assert re.fullmatch(r"tm_[\w-]{43}", text)
    file = home / "keys.json"
    assert [path.stat().st_mode & 0o777 for path in (home, file)] == [0o700, 0o600]
    assert text not in file.read_text()
    (kept,) = json.loads(file.read_text())["keys"]
    assert (kept["sha256"], kept["name"], kept["revoked_ms"]) == (digest(text), "Ada's notebook", None)
    assert text not in keys("list").stdout
    assert re.search(rf"{kept['id']} +valid .*Ada's notebook", keys("list").stdout)
    assert KeyRing(file).find(text) == kept["id"]
    assert keys("revoke", kept["id"]).returncode == 0
    assert re.search(rf"{kept['id']} +revoked", keys("list").stdout)
    assert KeyRing(file).find(text) is None
    unknown = keys("revoke", "nope")
    assert (unknown.returncode, "there is no key 'nope'" in unknown.stderr) == (1, True)
    assert keys("create", " ").returncode == 1
