"""`tidemark quarantine`: what is listed and dropped, and what a wrong number is answered."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli.main import app
from orchestration.config.settings import Settings
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.writer import connection
from tests.support.pipeline.pipeline_home import T0, settings_for

ROW = (
    "1, 'set aside', {t}, 'kucoin', 'perp_bars', 'XBT', '{{}}', {t}, {t}, '1.5', 'f', 80, 'staged_bars', 'odd', false, "
    "{t}, 'p'"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A warehouse with one body in quarantine, which the command line uses."""
    settings = settings_for(tmp_path)
    with connection(settings.warehouse) as con:
        prepare(con)
        con.execute(f"insert into pipeline.quarantine values ({ROW.format(t=T0)})")
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    return settings


def said(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["quarantine", *words])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.usefixtures("home")
@pytest.mark.requirement("status:quarantine")
def test_a_body_is_listed_with_its_request_and_error_and_is_dropped() -> None:
    text = said("list")
    for part in ("1  set aside", "2026-03-04 00:00 UTC", "kucoin perp_bars XBT", "load 1.5", "staged_bars: odd"):
        assert part in text
    assert said("drop", "1") == "1 responses are dropped\n"
    [body] = json.loads(said("list", "--json"))
    assert (body["state"], body["tick_ms"], body["alone"]) == ("dropped", T0, False)
    # What was dropped is tried again by its number alone.
    assert said("retry") == "0 responses are tried again\n"


@pytest.mark.usefixtures("home")
def test_a_number_that_is_not_there_is_named() -> None:
    text = said("drop", "7", "1", "8", code=1)
    assert "tidemark: not in quarantine: 7, 8; `tidemark quarantine list` shows what is" in text
