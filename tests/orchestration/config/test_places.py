"""Settings that name a place: what each kind takes, and one clear sentence for each value that cannot work."""

from pathlib import Path

import pytest

from orchestration.config import places
from orchestration.config.places import SettingsError
from orchestration.config.settings import Settings

HERE = Path("/srv/tidemark")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("TIDEMARK_HOME", "s3://bucket", "folder on this machine"),
        ("TIDEMARK_LANDING", "s3://", "URL such as"),
        ("TIDEMARK_LANDING", "gs://bucket/folder", "URL such as"),
        ("TIDEMARK_WAREHOUSE", "postgres://host/db", "DuckDB file"),
        ("TIDEMARK_VENUES_URL", "127.0.0.1:9100", "http://127.0.0.1:9100"),
        ("TIDEMARK_VENUES_URL", "http://127.0.0.1:port", "http://127.0.0.1:9100"),
        ("TIDEMARK_VENUES_URL", "http://[::1", "http://127.0.0.1:9100"),
        ("TIDEMARK_LANDING", "http://[::1", "URL such as"),
        ("TIDEMARK_REDIS_URL", "redis://[x", "redis://127.0.0.1:6379/0"),
        ("TIDEMARK_REDIS_URL", "redis://127.0.0.1:abc/0", "redis://127.0.0.1:6379/0"),
        ("TIDEMARK_REDIS_URL", "redis://127.0.0.1:65536/0", "redis://127.0.0.1:6379/0"),
        ("TIDEMARK_HOME", "~nouser/x", "path on this machine"),
        ("TIDEMARK_LANDING", "~nouser/x", "path on this machine"),
        ("TIDEMARK_WAREHOUSE", "~nouser/x.duckdb", "path on this machine"),
    ],
)
def test_a_place_that_cannot_work_is_one_sentence_with_name_value_and_what_is_allowed(
    name: str, value: str, allowed: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({name: value})
    sentence = str(raised.value)
    assert all(part in sentence for part in (name, value, allowed))
    assert "\n" not in sentence
    assert sentence.endswith(".")


def test_a_place_that_is_not_set_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for env in ({}, {"PLACE": " "}):
        assert places.folder(env, "PLACE", HERE) == HERE
        assert places.location(env, "PLACE", HERE) == places.warehouse(env, "PLACE", HERE) == str(HERE)
        assert places.web(env, "PLACE") is places.redis(env, "PLACE") is None
    for text, path in (("~/state", "state"), ("state", "state"), (" /var/state ", "/var/state")):
        assert places.folder({"PLACE": text}, "PLACE", HERE) == tmp_path / path


def test_urls_name_their_places() -> None:
    assert places.location({"PLACE": "s3://bucket/folder/"}, "PLACE", HERE) == "s3://bucket/folder"
    assert places.location({"PLACE": "file:///srv/landing"}, "PLACE", HERE) == "/srv/landing"
    assert places.warehouse({"PLACE": "md:tidemark"}, "PLACE", HERE) == "md:tidemark"
    assert places.web({"PLACE": "https://venues.example.org:8443/"}, "PLACE") == "https://venues.example.org:8443"
