"""A landing in an object store: a real S3 server, one set of keys for dlt and DuckDB, and how each failure shows."""

import logging
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ingest.landing import store
from ingest.landing.landing import Landing, check_landing, land
from ingest.landing.loads import LandingFault, committed_loads
from ingest.landing.outbox import Outbox
from ingest.landing.rows import Row
from ingest.landing.store import StoreFault, give_access, object_store
from tests.support.landing_rows import row, table
from tests.support.servers.s3_server import BUCKET, S3Server, forget, stormy, use


@pytest.fixture
def remote(s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty landing, and the keys in the environment."""
    use(s3, monkeypatch)
    yield f"s3://{BUCKET}/{tmp_path.name}/landing"
    forget()


def rows_in(landing: str) -> list[Row]:
    """Every row of the committed loads, as DuckDB reads it."""
    return read(*(file for load in committed_loads(landing) for file in load.files))


def read(*files: str) -> list[Row]:
    with duckdb.connect() as con:
        give_access(con, files)
        found = con.execute(f"select {', '.join(Row._fields)} from read_parquet(?)", [[*files]]).fetchall()
    return [Row(*values) for values in found]


def test_rows_are_landed_and_read_with_one_set_of_keys(remote: str, tmp_path: Path) -> None:
    assert committed_loads(remote) == []
    check_landing(remote)
    land([row(1), row(2, None)], remote, tmp_path / "dlt")
    land([row(3)], remote, tmp_path / "dlt")
    assert sorted(rows_in(remote)) == sorted([row(1), row(2, None), row(3)])
    first, second = committed_loads(remote)
    assert committed_loads(remote, after=first.load_id) == [second]


def test_a_bucket_is_in_the_path_of_a_store_of_ones_own_and_in_the_host_of_aws(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    forget()
    assert (object_store().endpoint, object_store().region, object_store().style) == (None, "us-east-1", "virtual")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://minio.example.org")
    forget()
    assert (object_store().endpoint, object_store().style) == ("https://minio.example.org", "path")
    own = (
        "[profile own]\nregion = eu-west-3\nendpoint_url = https://s3.example.org\ns3 =\n  addressing_style = virtual\n"
    )
    (tmp_path / "config").write_text(own)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("AWS_PROFILE", "own")
    forget()
    found = object_store()
    assert (found.endpoint, found.region, found.style) == ("https://s3.example.org", "eu-west-3", "virtual")
    monkeypatch.setenv("AWS_PROFILE", "other")
    forget()
    with pytest.raises(StoreFault, match="other"):
        object_store()
    forget()


WRONG = {
    "an unknown key": ({"AWS_ACCESS_KEY_ID": "AKIAUNKNOWN"}, "does not exist in our records"),
    "a wrong secret": ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "signature we calculated does not match"),
    "no keys": ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "no credentials: set AWS_ACCESS_KEY_ID"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_keys_are_one_line(
    wrong: str, remote: str, s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env, reason = WRONG[wrong]
    use(s3, monkeypatch, AWS_SHARED_CREDENTIALS_FILE="/nowhere", **env)
    for attempt in (check_landing, committed_loads):
        with pytest.raises(LandingFault, match=reason) as raised:
            attempt(remote)
        assert str(raised.value).startswith(remote)
        assert "\n" not in str(raised.value)
    # The first request of a landing is a HEAD, whose answer has no text.
    with pytest.raises(LandingFault, match=r"does not know these keys|no credentials"):
        Landing(remote, tmp_path / "dlt").land(table(row(1)))
    with pytest.raises((duckdb.HTTPException, StoreFault), match=r"403|no credentials"):
        read(f"{remote}/responses/a.parquet")


def test_a_missing_bucket_is_one_line_and_is_not_made(remote: str, s3: S3Server, tmp_path: Path) -> None:
    missing = "s3://no-such-bucket/landing"
    for attempt in (check_landing, committed_loads, lambda url: Landing(url, tmp_path / "dlt").land(table(row(1)))):
        with pytest.raises(LandingFault, match=rf"^{missing} .*The specified bucket does not exist$"):
            attempt(missing)
    with pytest.raises(LandingFault, match="is no folder"):
        check_landing("s3://no-such-bucket")


def test_without_its_extension_duckdb_says_what_to_install(remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "HTTPFS", "duckdb_extension_that_is_not_installed")
    with duckdb.connect() as con, pytest.raises(StoreFault, match=r"pip install 'tidemark\[lake\]'"):
        give_access(con, [remote])


async def test_a_store_that_is_down_or_silent_loses_nothing(
    remote: str, s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It fails at every request of a landing in turn, and answers none: rows stay in the journal, and land once."""
    monkeypatch.setattr(store, "READ_S", 1)
    monkeypatch.setattr(store, "ATTEMPTS", 1)
    caplog.set_level(logging.INFO)
    with stormy(s3) as (behind, weather):
        use(behind, monkeypatch)
        outbox = Outbox(tmp_path / "recorder", remote)
        wanted = []
        for good in range(12):
            outbox.put(row(good))
            wanted.append(row(good))
            weather.status, weather.good = 503, good
            await outbox.land()
        assert 503 in {status for _, status in weather.answered}
        weather.status, weather.silent = None, True
        outbox.put(row(50))
        silent = await outbox.land()
        assert silent is not None
        assert "timeout" in (silent.fault or "").lower(), silent.fault
        check_landing(remote)  # it may work later
        weather.silent = False
        weather.over.set()
        landed = await outbox.land()
        assert landed is not None
        assert landed.fault is None, landed.fault
        assert not any((tmp_path / "recorder" / "journal").iterdir())
        assert sorted(rows_in(remote)) == sorted([*wanted, row(50)])
        assert "The landing takes rows again" in caplog.text
