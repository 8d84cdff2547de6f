"""The text of the doctor, its verdict, and what is wrong usage."""

import subprocess
from pathlib import Path

from orchestration.cli.doctor import as_text, verdict
from orchestration.supervise.doctor import FAILURE, OK, WARNING, Finding
from tests.support.command import TIDEMARK, environment, tidemark


def test_an_unknown_exchange_is_one_sentence(tmp_path: Path) -> None:
    words = [TIDEMARK, "doctor", "--venue", "nasdaq"]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--venue is 'nasdaq', but it must be one of: aster, binance" in done.stderr


def test_the_text_has_a_line_for_each_finding() -> None:
    exchanges = [Finding("okx", WARNING, "1 of 2"), Finding("okx tickers", FAILURE, "HTTP 500"), Finding("fx", OK, "")]
    good, sentence = verdict([], exchanges)
    assert (good, sentence) == (True, "ready, with parts of okx")
    lines = as_text([Finding("disk", OK, "much")], exchanges, sentence).splitlines()
    assert [line.split()[0] for line in lines if line] == ["ok", "look", "tickers:", "ok", "ready,"]
    assert verdict([], [Finding("okx", FAILURE, "")]) == (False, "not ready: no exchange answers as it should")


def test_the_warehouse_is_proven_by_itself(tmp_path: Path) -> None:
    done = tidemark(environment(tmp_path), "doctor", "--warehouse")
    assert done.returncode == 0, done.stderr
    assert "the first build makes" in done.stdout
    assert done.stdout.strip().endswith("ready: all that was looked at is as it should be")
