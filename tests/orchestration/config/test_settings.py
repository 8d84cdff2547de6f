"""Settings: defaults, absolute paths, and one clear sentence for each value that cannot work."""

import os
from pathlib import Path

import duckdb
import pytest

from orchestration.config import settings as settings_module
from orchestration.config.places import SettingsError
from orchestration.config.settings import SETTINGS, Settings


def test_defaults_are_the_documented_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.from_env({})
    assert settings.home == tmp_path / "data"
    assert settings.landing == str(tmp_path / "data" / "landing")
    assert settings.warehouse == str(tmp_path / "data" / "warehouse.duckdb")
    assert (settings.api_port, settings.dagster_port, settings.sandbox_port) == (8080, 3000, 9100)
    assert (settings.api_host, settings.dagster_host, settings.sandbox_host) == ("127.0.0.1",) * 3
    assert settings.universe == "small"
    assert settings.venues_url is None
    assert settings.build_threads == len(os.sched_getaffinity(0))
    machine_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_000_000
    assert 1000 <= int(settings.build_memory.removesuffix("MB")) <= max(1000, machine_mb // 4)
    with duckdb.connect(config=dict(settings.build_resources)) as con:
        assert con.execute("select current_setting('threads')").fetchall() == [(settings.build_threads,)]


@pytest.mark.parametrize(("threads", "models"), [("1", 1), ("2", 2), ("16", 4)])
def test_a_build_has_as_many_models_at_once_as_threads(threads: str, models: int) -> None:
    given = {"TIDEMARK_BUILD_THREADS": threads}
    assert Settings.from_env(given).models_at_once == models
    lake = Settings.from_env({**given, "TIDEMARK_WAREHOUSE": "ducklake:postgres:dbname=tidemark"})
    assert lake.models_at_once == 1


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("400000 100000", 4), ("250000 100000", 3), ("10000 100000", 1), ("", 8)]
)
def test_a_container_has_the_cores_of_its_quota(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(settings_module, "CONTAINER_CPU", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert Settings.from_env({}).build_threads == cores
    assert Settings.from_env({}).api_workers == 1
    shared = Settings.from_env({"TIDEMARK_REDIS_URL": "redis://127.0.0.1:6379/0"})
    assert shared.api_workers == max(1, cores // 2)


@pytest.mark.parametrize(("threads", "memory", "half"), [("1", "3GB", (1, 1.5e9)), ("5", "1500MB", (2, 7.5e8))])
def test_quality_checks_have_half_of_a_build(threads: str, memory: str, half: tuple[int, float]) -> None:
    settings = Settings.from_env({"TIDEMARK_BUILD_THREADS": threads, "TIDEMARK_BUILD_MEMORY": memory})
    with duckdb.connect(config=dict(settings.quality_resources)) as con:
        [(count, limit)] = con.execute("select current_setting('threads'), current_setting('memory_limit')").fetchall()
    number, unit = limit.split(" ")
    assert count == half[0]
    assert float(number) * {"GiB": 2**30, "MiB": 2**20}[unit] == pytest.approx(half[1], rel=0.1)


def test_every_folder_of_the_state_is_in_the_home() -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": "/srv/tidemark"})
    folders = (settings.serving, settings.recorder, settings.dbt_target, settings.dbt_logs, settings.docs)
    for folder in (*folders, settings.dagster_home, settings.logs):
        assert folder.is_relative_to("/srv/tidemark")


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.from_env(
        {"TIDEMARK_HOME": "state", "TIDEMARK_LANDING": "raw", "TIDEMARK_WAREHOUSE": "w.duckdb"}
    )
    assert settings.home == tmp_path / "state"
    assert settings.landing == str(tmp_path / "raw")
    assert settings.warehouse == str(tmp_path / "w.duckdb")


def test_a_setting_that_is_empty_counts_as_unset() -> None:
    assert Settings.from_env({setting.name: "" for setting in SETTINGS}) == Settings.from_env({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIDEMARK_LANDING", "s3://bucket/tidemark"),
        ("TIDEMARK_LANDING", "s3://tenant:bucket/tidemark"),
        ("TIDEMARK_WAREHOUSE", "md:tidemark"),
        ("TIDEMARK_REDIS_URL", "redis://:secret@[::1]:6379/0"),
        ("TIDEMARK_REDIS_URL", "unix:///run/redis.sock"),
        ("TIDEMARK_VENUES_URL", "http://127.0.0.1:9100/"),
        ("TIDEMARK_BUILD_THREADS", "3"),
        ("TIDEMARK_BUILD_MEMORY", "1.5GiB"),
        ("TIDEMARK_UNIVERSE", "full"),
        ("TIDEMARK_BULK_DAYS", "400"),
        ("TIDEMARK_BULK_DAYS", "off"),
        ("TIDEMARK_STAGED_DAYS", "30"),
        ("TIDEMARK_STAGED_DAYS", "off"),
        ("TIDEMARK_API_PORT", "65535"),
        ("TIDEMARK_API_HOST", "::"),
        ("TIDEMARK_LOG_FORMAT", "json"),
        ("TIDEMARK_PUBLIC_HOSTS", "API.example.org, mcp.example.org"),
        ("TIDEMARK_MCP_REVISION", "2026-07-28"),
        ("TIDEMARK_MCP_SQL", "on"),
        ("TIDEMARK_SECURITY_CONTACT", "mailto:security@example.org"),
        ("TIDEMARK_SECURITY_CONTACT", "https://example.org/security?lang=en"),
    ],
)
def test_another_process_gets_the_same_settings_back(name: str, value: str, tmp_path: Path) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path), name: value})
    assert Settings.from_env(settings.environ()) == settings


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("TIDEMARK_API_PORT", "eighty", "whole number from 1 to 65535"),
        ("TIDEMARK_API_PORT", "0", "whole number from 1 to 65535"),
        ("TIDEMARK_API_HOST", "example.org", "an address of this machine, such as '127.0.0.1' or '0.0.0.0'"),
        ("TIDEMARK_LOG_FORMAT", "xml", "text, json"),
        ("TIDEMARK_DAGSTER_PORT", "65536", "whole number from 1 to 65535"),
        ("TIDEMARK_SANDBOX_PORT", "-1", "whole number from 1 to 65535"),
        ("TIDEMARK_SANDBOX_PORT", "8080", "must differ"),
        ("TIDEMARK_BUILD_THREADS", "0", "whole number from 1 to 1024"),
        ("TIDEMARK_BUILD_THREADS", "two", "whole number from 1 to 1024"),
        ("TIDEMARK_BUILD_MEMORY", "4", "4GB"),
        ("TIDEMARK_BUILD_MEMORY", "80%", "4GB"),
        ("TIDEMARK_BULK_DAYS", "0", "whole number from 1 to 36500, 'all' or 'off'"),
        ("TIDEMARK_STAGED_DAYS", "none", "whole number from 1 to 36500, 'all' or 'off'"),
        ("TIDEMARK_UNIVERSE", "medium", "small, full, triple"),
        ("TIDEMARK_PUBLIC_HOSTS", "https://api.example.org", "api.example.org"),
        ("TIDEMARK_PUBLIC_HOSTS", "api.example.org:443", "without a port"),
        ("TIDEMARK_MCP_REVISION", "2024-11-05", "2025-11-25, 2026-07-28"),
        ("TIDEMARK_MCP_SQL", "yes", "off, on"),
        ("TIDEMARK_SECURITY_CONTACT", "security@example.org", "mailto:"),
        ("TIDEMARK_SECURITY_CONTACT", "https://example.org/x Expires: never", "without spaces"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_name_value_and_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({name: value})
    sentence = str(raised.value)
    assert name in sentence
    assert value in sentence
    assert allowed in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("10.0.0.5", "http://10.0.0.5:8080"),
        ("::", "http://[::1]:8080"),
        ("::1", "http://[::1]:8080"),
    ],
)
def test_this_machine_finds_what_listens_on_an_address(host: str, url: str) -> None:
    assert Settings.from_env({"TIDEMARK_API_HOST": host}).api_url == url
