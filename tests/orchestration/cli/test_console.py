"""Errors of the command as one sentence: a full disk, a damaged warehouse, a wrong setting."""

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli.main import app
from orchestration.config.settings import Settings
from tests.support.command import TIDEMARK, environment, sentence, tidemark
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.servers.api_server import free_port

COMMANDS = ("demo", "up", "record", "build", "publish", "serve", "sandbox", "backfill", "status")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_setting_is_one_sentence_and_code_2(command: str, tmp_path: Path) -> None:
    done = CliRunner(env=environment(tmp_path, TIDEMARK_UNIVERSE="huge")).invoke(app, [command])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr == "tidemark: TIDEMARK_UNIVERSE is 'huge', but it must be one of: small, full, triple.\n"


FULL_DISK = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh", TIDEMARK)


@pytest.mark.parametrize("words", [["build"], ["publish"], ["keys", "create", "me"], ["demo"], ["backfill"]])
def test_a_full_disk_is_one_sentence(words: list[str], tmp_path: Path) -> None:
    """A process limit under which no file may grow, which a process sees as a full disk."""
    env = environment(tmp_path, PYTHONDONTWRITEBYTECODE="1", TIDEMARK_VENUES_URL=f"http://127.0.0.1:{free_port()}")
    done = subprocess.run([*FULL_DISK, *words], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"tidemark: (.* cannot be used|the system refused): File too large", sentence(done))


def test_a_warehouse_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    give_parsed(Settings.from_env({"TIDEMARK_HOME": str(tmp_path)}))
    (tmp_path / "warehouse.duckdb").write_bytes(b"cut off")
    done = tidemark(environment(tmp_path), "publish")
    assert done.returncode == 1
    assert str(tmp_path / "warehouse.duckdb") in sentence(done)
