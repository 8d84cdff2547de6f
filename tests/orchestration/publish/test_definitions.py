"""Before the first edition the served API refuses the same metrics as after it."""

from pathlib import Path
from typing import Any

import pytest

from orchestration.config.settings import Settings
from orchestration.publish.definitions import read_written
from orchestration.publish.publish import read_catalog
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.pipeline_home import settings_for, start
from tests.support.servers.api_server import Api, free_port, until


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.from_env({"TIDEMARK_HOME": str(tmp_path), "TIDEMARK_API_PORT": str(free_port())})


def test_they_are_those_of_the_manifest(tmp_path: Path) -> None:
    home = settings_for(tmp_path)
    give_parsed(home)
    assert read_written() == read_catalog(home.dbt_target / "manifest.json")


@pytest.mark.requirement("series:metric:unknown", "series:db:missing")
def test_an_unknown_metric_is_refused_before_the_first_edition(settings: Settings) -> None:
    server = start(settings, "serve")
    api = Api(settings.api_port, settings.serving, settings.home / "serve.log")

    def answers() -> bool:
        assert server.poll() is None
        try:
            return api.get("/").status == 200
        except OSError:
            return False

    def listed(name: str) -> Any:
        operation = api.get("/openapi.json").json["paths"]["/api/series/{metric}"]["get"]
        return next(one["schema"].get("enum") for one in operation["parameters"] if one["name"] == name)

    try:
        until(answers, bool)
        unknown = api.get("/api/series/prise?base=BTC")
        assert unknown.status == 400
        assert "did you mean 'price'?" in unknown.error
        assert "open-interest" in unknown.error
        kind = api.get("/api/series/long-short?base=BTC&kind=whales")
        assert (kind.status, "'whales'" in kind.error) == (400, True)
        for name in ("price", "open-interest"):
            assert api.series(name, base="BTC", step="5m")["db"] is False
        assert {"price", "open-interest"} <= set(listed("metric"))
        assert "accounts" in listed("kind")
    finally:
        server.terminate()
        server.communicate(timeout=30)
