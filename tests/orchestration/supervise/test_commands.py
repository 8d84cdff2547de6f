"""The command lines of the product's processes: their settings, their programs, and Dagster's files."""

import os
from pathlib import Path

from orchestration.config.settings import Settings
from orchestration.supervise import commands


def test_every_process_has_the_settings_and_the_installed_programs(tmp_path: Path) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path), "TIDEMARK_API_PORT": "4711"})
    command = commands.tidemark(settings, "server", "serve")
    assert (command.name, command.argv[-1]) == ("server", "serve")
    assert Settings.from_env(command.env) == settings
    assert (Path(command.env["PATH"].split(os.pathsep)[0]) / "dbt").exists()
    assert command.env["DAGSTER_HOME"] == str(settings.dagster_home)


def test_dagster_meets_at_a_socket_in_its_home(tmp_path: Path) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path / ("long" * 30)), "TIDEMARK_DAGSTER_PORT": "4712"})
    settings.dagster_home.mkdir(parents=True)
    commands.code_socket(settings).write_text("of a run that was killed")
    prepare = commands.prepare_dagster(settings)
    assert not commands.code_socket(settings).exists()
    assert (settings.dagster_home / "dagster.yaml").exists()
    assert commands.SOCKET in (settings.dagster_home / commands.WORKSPACE).read_text()
    started = commands.dagster(settings)
    assert [command.name for command in started] == ["dagster-code", "dagster-daemon", "dagster-ui"]
    for command in (prepare, *started):
        assert command.cwd == settings.dagster_home
        assert Path(command.argv[0]).exists()
        assert not any(str(tmp_path) in word for word in command.argv), "the path of a socket must be short"
    assert "4712" in started[-1].argv
