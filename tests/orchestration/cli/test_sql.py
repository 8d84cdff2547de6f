"""`tidemark sql`: one text or a shell, with what fails in a sentence."""

from pathlib import Path

from typer.testing import CliRunner

from orchestration.cli.main import app
from tests.support.command import environment
from tests.support.replica.replica import publish


def test_the_command_runs_one_text_or_a_shell(tmp_path: Path) -> None:
    env = environment(tmp_path)
    done = CliRunner(env=env).invoke(app, ["sql", "-c", "select 1"])
    assert done.exit_code == 1
    assert "nothing has been published" in done.stderr
    publish(tmp_path / "serving", 1)
    done = CliRunner(env=env).invoke(
        app, ["sql", "--format", "csv", "-c", "select count(*) > 0 as any from market_index"]
    )
    assert (done.exit_code, done.stdout) == (0, "any\nTrue\n")
    done = CliRunner(env=env).invoke(app, ["sql", "-c", "from nowhere"])
    assert done.exit_code == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    typed = "create table t as\nselect 7 as seven;\nfrom nowhere;\n\nfrom t;\n"
    for copy in ([], ["--copy"]):
        done = CliRunner(env=env).invoke(app, ["sql", "--format", "json", *copy], input=typed)
        assert done.exit_code == 0
        assert done.stdout.startswith("edition 1; ")
        assert '{"seven":7}' in done.stdout
        assert "nowhere" in done.stderr
    assert not list(tmp_path.glob("tmp*"))
